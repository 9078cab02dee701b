package import Foundation

/// What the bytes of a read are to be decoded to.
package struct TypedDemand: Sendable {
  /// The name of the type, kept with the entry.
  package var type: String
  /// Of the format; another one means that stored bytes are decoded anew.
  package var version: Int
  package var decode: @Sendable (Data) throws -> any Sendable
}

extension ResourceCache {
  /// The value of an entry: decoded once for each version of the bytes and of the format, however many ask.
  ///
  /// - Throws: what the decoding throws.
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

  /// Whether stored bytes are of the type that is asked for and can be decoded: what is not counts as not stored.
  func isAcceptable(_ stored: StoredEntry, _ key: ResourceKey, _ typed: TypedDemand?) -> Bool {
    guard let typed, !stored.isAbsent else { return true }
    if let type = stored.entry.metadata.valueType, type != typed.type { return false }
    // What cannot be decoded is asked for anew; the error of that answer is the one to tell.
    return (try? decodedValue(of: stored, key, typed)) != nil
  }
}
