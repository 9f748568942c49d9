//! What an executor has itself reminded of.

/// What an alarm is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Alarm {
    /// An operation ends.
    End,
    /// A message's data are handed over.
    Data,
    /// A message's request is handed over.
    Request,
    /// The answer to a request is handed over.
    Answer,
    /// A control message has been read: the request by the receiver.
    Requested,
    /// The answer by the sender.
    Answered,
    /// Something has happened between this tick and the one before.
    BetweenTicks,
}

impl Alarm {
    const ALL: [Self; 7] =
        [Self::End, Self::Data, Self::Request, Self::Answer, Self::Requested, Self::Answered, Self::BetweenTicks];

    /// Its number, by which the owner of the network keeps it.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// The alarm of a number.
    pub fn of(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }
}
