internal import BothyStore
package import HTTPTypes

/// What a request asks of a cache (RFC 9111 §5.2.1), laid over what the rule says of an entry.
package struct RequestDirectives: Sendable, Hashable {
  private let control: CacheControl

  package init(_ fields: HTTPFields) { control = CacheControl(fields) }

  /// To be answered from what is stored, or not at all (504).
  package var onlyIfCached: Bool { control.onlyIfCached }
  /// Neither looked up nor kept.
  package var noStore: Bool { control.noStore }
  package var noCache: Bool { control.noCache }

  /// The use that the request allows of an entry; `age` is that of HTTP.
  package func restrict(_ usability: Usability, age: Int64) -> Usability {
    var restricted = usability
    let isTooOld = control.maxAge.map { age > $0 * 1000 } ?? false
    let isTooNearItsEnd = control.minFresh.map { usability.freshFor < $0 * 1000 } ?? false
    if control.noCache || control.noStore || (isTooOld && control.maxStale == nil) || isTooNearItsEnd {
      restricted.state = .mustRevalidate
    } else if let maxStale = control.maxStale, usability.state == .staleIfError || usability.state == .stale,
      maxStale == .max || Int64(0).subtractingClamped(usability.freshFor) <= maxStale * 1000
    {
      restricted.state = .staleWhileRevalidate
    }
    return restricted
  }
}

/// The `Age` of an answer that comes from the cache (RFC 9111 §5.1).
package enum ServedAge {
  package static func seconds(of entry: EntryMetadata, at now: Int64) -> Int64 {
    min(entry.age(at: now) / 1000, CacheControl.longest)
  }
}
