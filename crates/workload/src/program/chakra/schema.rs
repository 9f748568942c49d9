//! What is read of the messages of Chakra's schema (MLCommons, `et_def.proto`): field numbers and types; fields that are not named are skipped.

/// What a file begins with.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct GlobalMetadata {
    /// Of the schema.
    #[prost(string, tag = "1")]
    pub version: String,
}

/// What a rank does.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Node {
    /// Its number, which others depend on.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// What the framework calls it.
    #[prost(string, tag = "2")]
    pub name: String,
    /// What kind of a node it is.
    #[prost(enumeration = "NodeType", tag = "3")]
    pub r#type: i32,
    /// Nodes that it comes after,
    #[prost(uint64, repeated, tag = "4")]
    pub ctrl_deps: Vec<u64>,
    /// and those whose results it needs.
    #[prost(uint64, repeated, tag = "5")]
    pub data_deps: Vec<u64>,
    /// How long it takes.
    #[prost(uint64, tag = "7")]
    pub duration_micros: u64,
    /// What goes into it.
    #[prost(message, optional, tag = "8")]
    pub inputs: Option<Values>,
    /// All else, by name.
    #[prost(message, repeated, tag = "10")]
    pub attr: Vec<Attribute>,
}

/// What goes into a node.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Values {
    /// A list of values as text; process groups stand in that of a `METADATA_NODE`.
    #[prost(string, tag = "1")]
    pub values: String,
}

/// A list of truth values.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Flags {
    /// The values.
    #[prost(bool, repeated, tag = "1")]
    pub values: Vec<bool>,
}

/// Kinds of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum NodeType {
    /// None has been given.
    Invalid = 0,
    /// What is known of others.
    Metadata = 1,
    /// Memory is read,
    MemLoad = 2,
    /// or written.
    MemStore = 3,
    /// Calculation.
    Comp = 4,
    /// A message is sent,
    CommSend = 5,
    /// or received.
    CommRecv = 6,
    /// A collective operation.
    CommColl = 7,
    /// Files are read or written.
    Storage = 8,
    /// A step of training begins.
    Batch = 9,
    /// A state is saved.
    Checkpoint = 10,
}

impl NodeType {
    /// The kind that the schema calls so.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "INVALID_NODE" => Self::Invalid,
            "METADATA_NODE" => Self::Metadata,
            "MEM_LOAD_NODE" => Self::MemLoad,
            "MEM_STORE_NODE" => Self::MemStore,
            "COMP_NODE" => Self::Comp,
            "COMM_SEND_NODE" => Self::CommSend,
            "COMM_RECV_NODE" => Self::CommRecv,
            "COMM_COLL_NODE" => Self::CommColl,
            "STORAGE_NODE" => Self::Storage,
            "BATCH_NODE" => Self::Batch,
            "CHECKPOINT_NODE" => Self::Checkpoint,
            _ => return None,
        })
    }
}

/// A named value: one of these.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Attribute {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(double, optional, tag = "3")]
    double: Option<f64>,
    #[prost(float, optional, tag = "5")]
    float: Option<f32>,
    #[prost(int32, optional, tag = "7")]
    int32: Option<i32>,
    #[prost(int64, optional, tag = "9")]
    int64: Option<i64>,
    #[prost(uint32, optional, tag = "11")]
    uint32: Option<u32>,
    #[prost(uint64, optional, tag = "13")]
    uint64: Option<u64>,
    #[prost(sint32, optional, tag = "15")]
    sint32: Option<i32>,
    #[prost(sint64, optional, tag = "17")]
    sint64: Option<i64>,
    #[prost(fixed32, optional, tag = "19")]
    fixed32: Option<u32>,
    #[prost(fixed64, optional, tag = "21")]
    fixed64: Option<u64>,
    #[prost(sfixed32, optional, tag = "23")]
    sfixed32: Option<i32>,
    #[prost(sfixed64, optional, tag = "25")]
    sfixed64: Option<i64>,
    #[prost(bool, optional, tag = "27")]
    bool: Option<bool>,
    #[prost(message, optional, tag = "28")]
    bools: Option<Flags>,
    #[prost(string, optional, tag = "29")]
    string: Option<String>,
}

impl Attribute {
    /// A value of 64 bits.
    pub fn number(name: &str, value: u64) -> Self {
        Self { name: name.to_owned(), uint64: Some(value), ..Self::default() }
    }

    /// A number below 0.
    pub fn signed(name: &str, value: i64) -> Self {
        Self { name: name.to_owned(), int64: Some(value), ..Self::default() }
    }

    /// A number that may be a fraction.
    pub fn real(name: &str, value: f64) -> Self {
        Self { name: name.to_owned(), double: Some(value), ..Self::default() }
    }

    /// A truth value.
    pub fn flag(name: &str, value: bool) -> Self {
        Self { name: name.to_owned(), bool: Some(value), ..Self::default() }
    }

    /// A list of truth values.
    pub fn flags(name: &str, values: Vec<bool>) -> Self {
        Self { name: name.to_owned(), bools: Some(Flags { values }), ..Self::default() }
    }

    /// A text.
    pub fn text(name: &str, value: &str) -> Self {
        Self { name: name.to_owned(), string: Some(value.to_owned()), ..Self::default() }
    }

    /// Its value, if it is a whole number from 0 on.
    pub fn whole(&self) -> Option<u64> {
        let small = [self.int32, self.sint32, self.sfixed32].into_iter().flatten().map(i64::from);
        let signed = [self.int64, self.sint64, self.sfixed64].into_iter().flatten().chain(small).next();
        let unsigned = self.uint64.or(self.fixed64).or_else(|| self.uint32.or(self.fixed32).map(u64::from));
        let real = self.double.or(self.float.map(f64::from));
        let real = real.filter(|value| (0.0..1e18).contains(value) && value.fract() == 0.0).map(|value| value as u64);
        unsigned.or_else(|| signed.and_then(|value| u64::try_from(value).ok())).or(real)
    }

    /// Its value, if it is a text.
    pub fn written(&self) -> Option<&str> {
        self.string.as_deref()
    }

    /// Its value as the name of a group, which may be a number.
    pub fn label(&self) -> Option<String> {
        self.string.clone().or_else(|| self.whole().map(|number| number.to_string()))
    }

    /// Its value, if it is a truth value or a number.
    pub fn is_set(&self) -> Option<bool> {
        self.bool.or_else(|| self.whole().map(|number| number > 0))
    }

    /// Its values, if it is a list of truth values.
    pub fn all(&self) -> &[bool] {
        self.bools.as_ref().map_or(&[], |own| &own.values)
    }
}

impl Node {
    /// An attribute by its name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attr.iter().find(|own| own.name == name)
    }
}
