import BothyCore
package import HTTPTypes

/// The validation of a stored entry, and the changes by a 304 (RFC 9111 §4.3).
package enum Validation {
  /// Returns the fields that make a request conditional on the stored entry. `If-None-Match` repeats the `ETag`
  /// exactly.
  ///
  /// They are empty if the entry has no validator. The request must then be unconditional.
  package static func fields(for entry: EntryMetadata) -> HTTPFields {
    var conditions = HTTPFields()
    if let tag = entry.fields[.eTag], !tag.isEmpty { conditions[.ifNoneMatch] = tag }
    if let modified = entry.fields[.lastModified],
      HTTPDate.milliseconds(modified, now: entry.receivedAt) != nil
    {
      conditions[.ifModifiedSince] = modified
    }
    return conditions
  }

  /// Returns the entry after a 304, or `nil` if the 304 concerns other bytes than those stored.
  ///
  /// The bytes and the time of their arrival stay. The fields, the terms and the time of confirmation are new.
  package static func renewed(
    _ entry: EntryMetadata, by answer: HTTPFields, requestedAt: Int64, receivedAt: Int64, rule: FreshnessRule
  ) -> EntryMetadata? {
    if let old = entry.fields[.eTag], let new = answer[.eTag], opaque(old) != opaque(new) { return nil }
    var renewed = entry
    renewed.fields = merged(entry.fields, answer)
    renewed.requestedAt = requestedAt
    renewed.validatedAt = receivedAt
    renewed.expiresAt = nil
    // A 304 need not repeat unchanged fields, but its age and date are its own.
    var speaking = renewed.fields
    speaking[.age] = answer[.age]
    renewed.fields[.age] = answer[.age]
    if answer[.date] == nil { speaking[.date] = nil }
    renewed.freshness = FreshnessMetadata(
      status: entry.status, fields: speaking, requestedAt: requestedAt, receivedAt: receivedAt, rule: rule)
    return renewed
  }

  /// Fields that describe the stored bytes, which a 304 does not change (RFC 9111 §3.2).
  private static let ofTheBytes: Set<String> = [
    "content-length", "content-encoding", "content-range", "content-type", "vary",
  ]

  /// Returns the stored fields, updated with those of a 304.
  package static func merged(_ stored: HTTPFields, _ answer: HTTPFields) -> HTTPFields {
    let news = Storability.storable(answer).filter { !ofTheBytes.contains($0.name.canonicalName) }
    let replaced = Set(news.map(\.name))
    var merged = HTTPFields(stored.filter { !replaced.contains($0.name) })
    for field in news { merged.append(field) }
    return merged
  }

  /// Returns a validator without its mark of weakness, for the weak comparison (RFC 9110 §8.8.3.2).
  static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }
}
