/// The secret that one value was saved with. The reading names the value.
struct SavedSecret: Hashable, Sendable {
  var key: SecretKey
  var reading: Int64
}

/// Keeping the values of sensitive fields out of the rows.
extension WriteTransaction {
  /// Moves the values of sensitive fields to `secrets` and returns null for the row. The flag is true if any is new.
  ///
  /// - Parameter isKept: true if the record exists, so that secrets that the same value was saved with before are stored
  ///   or sent already. Memory has hashes of them until the next launch.
  func conceal(
    _ values: [FieldValue], _ table: TypeTable, _ id: String, readAs mark: ReadMark, isKept: Bool = false
  ) -> (values: [FieldValue], hasNew: Bool) {
    var (values, hasNew) = (values, false)
    let record = RecordID(type: table.schema.name, id: id)
    for position in table.sensitivePositions {
      guard case .text(let secret) = values[position] else { continue }
      values[position] = .null
      let key = SecretKey(record, field: table.schema.fields[position].name)
      let saved = SavedSecret(key: key, reading: mark.reading)
      if mark.reading != 0 {
        let hash = Self.hash(secret)
        if isKept && hash == secretHashes[saved] ?? ownChanges?.secretHash(saved) { continue }
        secretHashes[saved] = hash
      }
      secrets[key] = secret
      hasNew = true
    }
    return (values, hasNew)
  }

  /// Returns a hash with a key that Swift makes for each process.
  private static func hash(_ secret: String) -> Int {
    var hasher = Hasher()
    for byte in secret.utf8 { hasher.combine(byte) }
    return hasher.finalize()
  }
}
