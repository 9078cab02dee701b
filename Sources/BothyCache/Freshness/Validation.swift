import BothyCore
package import HTTPTypes

/// Asking whether what is stored is still right, and what a 304 changes of it (RFC 9111 §4.3).
package enum Validation {
  /// The fields that make a request conditional on the stored entry; empty when it has nothing to compare by, and
  /// then the request has to be an unconditional one. `If-None-Match` repeats the `ETag` byte for byte.
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

  /// The entry as a 304 leaves it: the bytes and when they came stay; the fields, the terms and the time of
  /// confirmation are new. Nil when the 304 speaks of other bytes than those stored.
  package static func renewed(
    _ entry: EntryMetadata, by answer: HTTPFields, requestedAt: Int64, receivedAt: Int64, rule: FreshnessRule
  ) -> EntryMetadata? {
    if let old = entry.fields[.eTag], let new = answer[.eTag], opaque(old) != opaque(new) { return nil }
    var renewed = entry
    renewed.fields = merged(entry.fields, answer)
    renewed.requestedAt = requestedAt
    renewed.validatedAt = receivedAt
    renewed.expiresAt = nil
    // A 304 need not repeat what it says nothing new about, but its age and date are its own.
    var speaking = renewed.fields
    speaking[.age] = answer[.age]
    renewed.fields[.age] = answer[.age]
    if answer[.date] == nil { speaking[.date] = nil }
    renewed.freshness = FreshnessTerms(
      status: entry.status, fields: speaking, requestedAt: requestedAt, receivedAt: receivedAt, rule: rule)
    return renewed
  }

  /// Fields that describe the stored bytes: a 304 does not change them (RFC 9111 §3.2).
  private static let ofTheBytes: Set<String> = [
    "content-length", "content-encoding", "content-range", "content-type", "vary",
  ]

  /// The stored fields with those of a 304 in the place of old ones.
  package static func merged(_ stored: HTTPFields, _ answer: HTTPFields) -> HTTPFields {
    let news = Storability.storable(answer, decodes: false).filter {
      !ofTheBytes.contains($0.name.canonicalName)
    }
    let replaced = Set(news.map(\.name))
    var merged = HTTPFields(stored.filter { !replaced.contains($0.name) })
    for field in news { merged.append(field) }
    return merged
  }

  /// A validator without the mark of weakness: the weak comparison (RFC 9110 §8.8.3.2).
  static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }
}
