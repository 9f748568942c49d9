//! Slots of an executor's slabs ([`crate::slab`]): one type for each kind, so that a send is never taken for a message.

use crate::slab::SlabKey;

macro_rules! slot {
    ($(#[$doc:meta])* $name:ident) => {
        units::id! {
            $(#[$doc])*
            $name(u32)
        }

        impl $name {
            /// No slot.
            pub const NONE: Self = Self(u32::MAX);
        }

        impl SlabKey for $name {
            #[inline]
            fn of(number: u32) -> Self {
                Self(number)
            }

            #[inline]
            fn number(self) -> u32 {
                self.0
            }
        }
    };
}

slot! {
    /// Slot of a send that has started.
    SendSlot
}
slot! {
    /// Slot of a receive, or of a burst of receives, that has started.
    ReceiveSlot
}
slot! {
    /// Slot of a message on its way to a rank of the executor.
    MessageSlot
}
