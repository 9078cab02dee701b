public import Foundation
public import HTTPTypes

/// What the cache has of one resource: the bytes and all that is known of them.
public struct CacheEntry: Sendable, Hashable {
  /// The status, the stored fields, the times and what is computed from them.
  public var metadata: EntryMetadata
  /// The bytes, any content coding undone; none in negative entries.
  public var body: Data

  /// An entry of known parts, for those who fill a store without a server: importers, bundles, tests.
  public init(metadata: EntryMetadata, body: Data) {
    self.metadata = metadata
    self.body = body
  }
}

/// All that is known of stored bytes. Times are milliseconds since 1970 by the device's clock.
public struct EntryMetadata: Sendable, Hashable {
  /// The status of the answer: 200 for most; 204, 404 and 410 are negative entries, without a body.
  public var status: Int
  /// The stored fields of the answer, without those that concern one connection only. Read out of their stored form
  /// each time: about half a microsecond for each field.
  public var fields: HTTPFields {
    get { storedFields.fields }
    set { storedFields = StoredFields(newValue) }
  }
  package var storedFields: StoredFields
  /// When the request was sent that brought these bytes, or last confirmed them.
  public var requestedAt: Int64
  /// When the bytes came.
  public var receivedAt: Int64
  /// When the bytes came or were last confirmed by a 304.
  public var validatedAt: Int64
  /// What was computed of the fields when they came; a read compares numbers.
  public var freshness: FreshnessTerms
  /// The request's fields that the answer depends on (`Vary`), in lower case and in order; nil for a field not sent.
  public var variedOn: [VariedField]
  /// The moment from which these bytes count as stale whatever else is said; wins over the source's rule.
  public var expiresAt: Int64?
  /// What the bytes are decoded to, and in which version of the format; nil for plain resources.
  public var valueType: String?
  /// The version of the format that the value was decoded in; 0 unless told otherwise.
  public var formatVersion: Int

  /// What a store keeps beside the bytes. Times are milliseconds since 1970.
  public init(
    status: Int, fields: HTTPFields, requestedAt: Int64, receivedAt: Int64, validatedAt: Int64,
    freshness: FreshnessTerms, variedOn: [VariedField] = [], expiresAt: Int64? = nil,
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

  /// For those who read entries back from disk.
  package init(
    status: Int, storedFields: StoredFields, requestedAt: Int64, receivedAt: Int64, validatedAt: Int64,
    freshness: FreshnessTerms, variedOn: [VariedField], expiresAt: Int64?, valueType: String?,
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

/// One field of the request that an answer depends on.
public struct VariedField: Sendable, Hashable {
  /// The name, in lower case.
  public var name: String
  /// What the request said in it; nil when it had no such field.
  public var value: String?

  /// One field as a request had it; the name is to be in lower case.
  public init(name: String, value: String?) {
    self.name = name
    self.value = value
  }
}
