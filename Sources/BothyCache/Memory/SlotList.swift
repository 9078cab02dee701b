/// The ends of a doubly linked list in an array of slots, with the total cost of its members.
struct SlotList {
  /// The newest member, or -1 if the list is empty.
  var first: Int32 = -1
  /// The member to evict next.
  var last: Int32 = -1
  var count = 0
  var cost = 0
}

/// One entry in memory and its place in a list.
struct MemorySlot<Key: Hashable & Sendable, Value: Sendable> {
  var key: Key
  /// The value, or `nil` if the slot is free.
  var value: Value?
  var cost = 0
  /// The number of bytes that a hit returns.
  var size = 0
  var newer: Int32 = -1
  var older: Int32 = -1
  /// The number of recent reads, at most 3.
  var frequency: UInt8 = 0
  var isInMain = false
  /// The time of the last read. Only valid if `isUsed` is true.
  var lastUsed: Int64 = 0
  /// True if the entry was read since the last report of uses.
  var isUsed = false
}
