package import Foundation

/// The type to which a read decodes the bytes.
package struct TypedDemand: Sendable {
  /// The name of the type, stored with the entry.
  package var type: String
  /// The version of the format. If it differs, stored bytes are decoded again.
  package var version: Int
  package var decode: @Sendable (Data) throws -> any Sendable
}

extension ResourceCache {
  /// Returns the decoded value of an entry. Each version of bytes and format is decoded once for all callers.
  ///
  /// - Throws: the error of the decoding.
  func decodedValue(of stored: StoredEntry, _ key: ResourceKey, _ typed: TypedDemand) throws -> any Sendable {
    let name = DecodedKey(
      resource: key, variedOn: stored.entry.metadata.variedOn, type: typed.type, version: typed.version)
    return try decoding.run(name) {
      if let known = decoded.read(name, now: 0),
        known.stored === stored || known.stored.entry.body == stored.entry.body
      {
        return known.value
      }
      let value = try typed.decode(stored.entry.body)
      decoded.insert(name, DecodedValue(value: value, stored: stored), cost: max(1, stored.entry.body.count))
      return value
    }
  }

  /// True if stored bytes have the requested type and decode. Otherwise they count as not stored.
  func isAcceptable(_ stored: StoredEntry, _ key: ResourceKey, _ typed: TypedDemand?) -> Bool {
    guard let typed, !stored.isAbsent else { return true }
    if let type = stored.entry.metadata.valueType, type != typed.type { return false }
    // Bytes that do not decode are requested again. The error of that response is the one to report.
    return (try? decodedValue(of: stored, key, typed)) != nil
  }
}
