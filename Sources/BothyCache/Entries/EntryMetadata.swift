public import Foundation
public import HTTPTypes

/// The metadata of stored bytes. Times are milliseconds since 1970 by the device's clock.
///
/// A store of an app's own keeps `encoded` beside the bytes, and creates the metadata from it again. A clock that is
/// set back by more than five minutes makes entries stale, and loses none.
public struct EntryMetadata: Sendable, Hashable {
  /// The status of the response, which mostly is 200. 204, 404 and 410 are negative entries, without a body.
  ///
  /// A confirmation by a 304 doesn't change it.
  public var status: Int
  /// The stored fields of the response, without those that concern one connection only.
  ///
  /// They are decoded from their stored form each time, which takes about half a microsecond for each field.
  public var fields: HTTPFields {
    get { storedFields.fields }
    set { storedFields = StoredFields(newValue) }
  }
  package var storedFields: StoredFields
  /// The time of the request that brought these bytes, or last confirmed them.
  package var requestedAt: Int64
  /// The time at which the bytes came, in milliseconds since 1970. A confirmation leaves it.
  public var receivedAt: Int64
  /// The time at which the bytes came or were last confirmed by a 304, in milliseconds since 1970.
  ///
  /// The lifetime under a `fixed` rule counts from it, unless the rule names another stamp.
  public var validatedAt: Int64
  /// The values computed from the fields when the bytes came. A read only compares numbers.
  package var freshness: FreshnessMetadata
  /// The request's fields on which the response depends (`Vary`), in lower case and ordered. A missing field is `nil`.
  package var variedOn: [VariedField]
  /// The time from which these bytes count as stale in any case. It overrides the source's rule.
  package var expiresAt: Int64?
  /// The type to which the bytes decode, or `nil` for plain resources.
  package var valueType: String?
  /// The version of the value's format, by default 0.
  package var formatVersion: Int
  /// True if the server sent the bytes with a content coding, so that a store keeps them packed.
  package var cameCoded = false
  /// The digest of the content, if the bytes beside this metadata are packed. Only stores have such.
  var packing: StoredDigest?

  /// Creates metadata. Times are milliseconds since 1970.
  package init(
    status: Int, fields: HTTPFields, requestedAt: Int64, receivedAt: Int64, validatedAt: Int64,
    freshness: FreshnessMetadata, variedOn: [VariedField] = [], expiresAt: Int64? = nil,
    valueType: String? = nil,
    formatVersion: Int = 0
  ) {
    self.status = status
    storedFields = StoredFields(fields)
    self.requestedAt = requestedAt
    self.receivedAt = receivedAt
    self.validatedAt = validatedAt
    self.freshness = freshness
    self.variedOn = variedOn
    self.expiresAt = expiresAt
    self.valueType = valueType
    self.formatVersion = formatVersion
  }

  /// Creates the metadata of a response that is known to an app, such as a resource that it brings along.
  ///
  /// The fields decide how long it is fresh, unless its source has a rule. `Last-Modified` and `ETag` make later
  /// requests conditional.
  ///
  /// - Parameters:
  ///   - status: the status of the response.
  ///   - fields: its fields. Empty ones give it no lifetime under `FreshnessRule.http`.
  ///   - receivedAt: the time at which the bytes came, in milliseconds since 1970. It counts as the time of
  ///     confirmation too.
  public init(status: Int = 200, fields: HTTPFields = [:], receivedAt: Int64) {
    self.init(
      status: status, fields: fields, requestedAt: receivedAt, receivedAt: receivedAt,
      validatedAt: receivedAt,
      freshness: FreshnessMetadata(
        status: status, fields: fields, requestedAt: receivedAt, receivedAt: receivedAt, rule: .http))
  }

  /// Creates metadata from `encoded`. Returns `nil` if the bytes are damaged or from a newer version.
  ///
  /// A store then treats the entry as missing.
  public init?(encoded: Data) {
    guard let metadata = encoded.withUnsafeBytes({ MetadataCoding.decode($0, seed: 0) }) else { return nil }
    self = metadata
  }

  /// All of the metadata in a form for disks, closed by a checksum.
  ///
  /// It is computed at each access, and has some 100 bytes besides the fields.
  public var encoded: Data { Data(MetadataCoding.encode(self, seed: 0)) }

  /// Creates metadata of an entry that is read from disk.
  package init(
    status: Int, storedFields: StoredFields, requestedAt: Int64, receivedAt: Int64, validatedAt: Int64,
    freshness: FreshnessMetadata, variedOn: [VariedField], expiresAt: Int64?, valueType: String?,
    formatVersion: Int
  ) {
    self.status = status
    self.storedFields = storedFields
    self.requestedAt = requestedAt
    self.receivedAt = receivedAt
    self.validatedAt = validatedAt
    self.freshness = freshness
    self.variedOn = variedOn
    self.expiresAt = expiresAt
    self.valueType = valueType
    self.formatVersion = formatVersion
  }
}
