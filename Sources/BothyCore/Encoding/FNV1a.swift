/// The hash by which ids, texts and statements are told apart or spread: FNV-1a in 64 bits.
extension Sequence<UInt8> {
  /// Returns the hash of these bytes, equal on every machine and in every run. It resists no attacker.
  ///
  /// - Parameter before: the hash of the bytes before these, to hash several parts as one.
  @inlinable
  package func fnv1a(after before: UInt64 = 0xcbf2_9ce4_8422_2325) -> UInt64 {
    reduce(before) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}
