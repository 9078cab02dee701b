import BothyCore
package import HTTPTypes

/// Checks of a request's own conditions against a stored entry (RFC 9111 §4.3.2), for callers that serve other clients.
package enum StoredConditions {
  /// True if the client has these bytes already. `If-None-Match` has priority over `If-Modified-Since`.
  package static func isUnchanged(_ entry: EntryMetadata, for request: HTTPFields) -> Bool {
    if request.contains(.ifNoneMatch) {
      guard let tag = entry.fields[.eTag] else { return false }
      let wanted = request[values: .ifNoneMatch].flatMap { ListReader.members(of: $0) }
      return wanted.contains { $0 == "*" || Validation.opaque(String($0)) == Validation.opaque(tag) }
    }
    guard let since = request[.ifModifiedSince].flatMap({ HTTPDate.milliseconds($0, now: entry.receivedAt) })
    else { return false }
    let modified = [HTTPField.Name.lastModified, .date].lazy.compactMap { name in
      entry.fields[name].flatMap { HTTPDate.milliseconds($0, now: entry.receivedAt) }
    }.first
    return (modified ?? entry.receivedAt) <= since
  }
}
