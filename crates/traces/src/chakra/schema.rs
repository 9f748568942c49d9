//! Part of Chakra's schema that is read (MLCommons, `et_def.proto`): field numbers and types. Other fields are skipped.

/// First message of a file.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct GlobalMetadata {
    /// Version of the schema.
    #[prost(string, tag = "1")]
    pub version: String,
}

/// Node: an action of a rank.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Node {
    /// Number of the node, used in dependencies.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Name given by the framework.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Type of the node.
    #[prost(enumeration = "NodeType", tag = "3")]
    pub r#type: i32,
    /// Control dependencies: nodes that precede this node.
    #[prost(uint64, repeated, tag = "4")]
    pub ctrl_deps: Vec<u64>,
    /// Data dependencies: nodes whose results this node needs.
    #[prost(uint64, repeated, tag = "5")]
    pub data_deps: Vec<u64>,
    /// Duration in microseconds.
    #[prost(uint64, tag = "7")]
    pub duration_micros: u64,
    /// Inputs.
    #[prost(message, optional, tag = "8")]
    pub inputs: Option<Values>,
    /// Further attributes, by name.
    #[prost(message, repeated, tag = "10")]
    pub attr: Vec<Attribute>,
}

/// Inputs of a node.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Values {
    /// List of values as text. In a `METADATA_NODE` it may hold process groups.
    #[prost(string, tag = "1")]
    pub values: String,
}

/// List of Boolean values.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Flags {
    /// Values.
    #[prost(bool, repeated, tag = "1")]
    pub values: Vec<bool>,
}

/// Type of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum NodeType {
    /// No type is given.
    Invalid = 0,
    /// Metadata about other nodes.
    Metadata = 1,
    /// Read from memory.
    MemLoad = 2,
    /// Write to memory.
    MemStore = 3,
    /// Calculation.
    Comp = 4,
    /// Send.
    CommSend = 5,
    /// Receive.
    CommRecv = 6,
    /// Collective operation.
    CommColl = 7,
    /// File input or output.
    Storage = 8,
    /// Start of a training step.
    Batch = 9,
    /// Saving of a state.
    Checkpoint = 10,
}

impl NodeType {
    /// Returns the type with a name in the schema.
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

/// Named value. At most one of the value fields is set.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Attribute {
    /// Name.
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
    /// Creates an attribute with a value of 64 bits.
    pub fn number(name: &str, value: u64) -> Self {
        Self { name: name.to_owned(), uint64: Some(value), ..Self::default() }
    }

    /// Creates an attribute with a signed number.
    pub fn signed(name: &str, value: i64) -> Self {
        Self { name: name.to_owned(), int64: Some(value), ..Self::default() }
    }

    /// Creates an attribute with a floating-point number.
    pub fn real(name: &str, value: f64) -> Self {
        Self { name: name.to_owned(), double: Some(value), ..Self::default() }
    }

    /// Creates an attribute with a Boolean value.
    pub fn flag(name: &str, value: bool) -> Self {
        Self { name: name.to_owned(), bool: Some(value), ..Self::default() }
    }

    /// Creates an attribute with a list of Boolean values.
    pub fn flags(name: &str, values: Vec<bool>) -> Self {
        Self { name: name.to_owned(), bools: Some(Flags { values }), ..Self::default() }
    }

    /// Creates an attribute with a text.
    pub fn text(name: &str, value: &str) -> Self {
        Self { name: name.to_owned(), string: Some(value.to_owned()), ..Self::default() }
    }

    /// Returns the value, if it is a non-negative integer.
    pub fn whole(&self) -> Option<u64> {
        let small = [self.int32, self.sint32, self.sfixed32].into_iter().flatten().map(i64::from);
        let signed = [self.int64, self.sint64, self.sfixed64].into_iter().flatten().chain(small).next();
        let unsigned = self.uint64.or(self.fixed64).or_else(|| self.uint32.or(self.fixed32).map(u64::from));
        let real = self.double.or(self.float.map(f64::from));
        let real = real.filter(|value| (0.0..1e18).contains(value) && value.fract() == 0.0).map(|value| value as u64);
        unsigned.or_else(|| signed.and_then(|value| u64::try_from(value).ok())).or(real)
    }

    /// Returns the value, if it is a text.
    pub fn written(&self) -> Option<&str> {
        self.string.as_deref()
    }

    /// Returns the value as the name of a group, which may be a number.
    pub fn label(&self) -> Option<String> {
        self.string.clone().or_else(|| self.whole().map(|number| number.to_string()))
    }

    /// Returns the value as a Boolean, if it is a Boolean or a number.
    pub fn is_set(&self) -> Option<bool> {
        self.bool.or_else(|| self.whole().map(|number| number > 0))
    }

    /// Returns the values of a list of Booleans.
    pub fn all(&self) -> &[bool] {
        self.bools.as_ref().map_or(&[], |own| &own.values)
    }
}

impl Node {
    /// Returns the attribute with a name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attr.iter().find(|own| own.name == name)
    }
}
