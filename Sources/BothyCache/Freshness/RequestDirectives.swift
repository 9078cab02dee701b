internal import BothyStore
package import HTTPTypes

/// The directives of a request to a cache (RFC 9111 §5.2.1), applied to the use that the rule permits.
package struct RequestDirectives: Sendable, Hashable {
  private let control: CacheControl

  package init(_ fields: HTTPFields) { control = CacheControl(fields) }

  /// True if the response must come from the cache or fail (504).
  package var onlyIfCached: Bool { control.onlyIfCached }
  /// True if the response must neither come from the cache nor be stored.
  package var noStore: Bool { control.noStore }
  package var noCache: Bool { control.noCache }

  /// Returns the use of an entry that the request permits. `age` is that of HTTP.
  package func restrict(_ usability: EntryState, age: Int64) -> EntryState {
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

/// The `Age` of a response that comes from the cache (RFC 9111 §5.1).
package enum ServedAge {
  package static func seconds(of entry: EntryMetadata, at now: Int64) -> Int64 {
    min(entry.age(at: now) / 1000, CacheControl.longest)
  }
}
