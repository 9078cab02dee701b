/// The ends of a doubly linked list through an array of slots, with what its members cost together.
struct SlotList {
  /// The newest member; -1 when the list is empty.
  var first: Int32 = -1
  /// The one that goes next.
  var last: Int32 = -1
  var count = 0
  var cost = 0
}

/// One entry in memory and its place in a list.
struct MemorySlot<Key: Hashable & Sendable, Value: Sendable> {
  var key: Key
  /// Nil while the slot is free.
  var value: Value?
  var cost = 0
  /// The bytes that a hit serves.
  var size = 0
  var newer: Int32 = -1
  var older: Int32 = -1
  /// How often it was read lately, at most 3.
  var frequency: UInt8 = 0
  var isInMain = false
  /// When it was last read; counts once `isUsed`.
  var lastUsed: Int64 = 0
  /// Whether it was read since this was last asked.
  var isUsed = false
}
