package import HTTPTypes

/// The reason why a response is returned but not stored.
package enum NotStoredReason: Sendable, Hashable {
  /// Only responses to GET are stored.
  case method
  /// The request has `no-store`. The stored entry stays.
  case requestForbids
  /// The response has `no-store`, or `private` in a shared cache. An entry that isn't pinned is removed.
  case answerForbids
  /// The response is a part (206), or a 304 without a stored entry.
  case incomplete
  /// The status may not be stored, with the fields of the response.
  case status(Int)
}

/// Decides if a response may be stored (RFC 9111 §3), and which of its fields are stored (§3.1).
package enum Storability {
  /// Returns the reason against storing a response, or `nil` if it may be stored.
  package static func obstacle(
    method: HTTPRequest.Method, request: HTTPFields, status: Int, fields: HTTPFields, rule: FreshnessRule
  ) -> NotStoredReason? {
    if method != .get { return .method }
    if CacheControl(request).noStore { return .requestForbids }
    let control = CacheControl(fields)
    let kind = AnswerKind(status: status)
    if kind == .partial || kind == .notModified { return .incomplete }
    if kind == .interim { return .status(status) }
    if control.mustUnderstand {
      if !AnswerKind.isUnderstood(status) { return .answerForbids }
    } else if control.noStore, !rule.ignoresNoStore {
      return .answerForbids
    }
    if rule.isShared && control.isPrivate { return .answerForbids }
    if kind == .body || kind == .negative { return nil }
    guard rule.keepsEveryStatus else { return .status(status) }
    let mayBeKept =
      control.maxAge != nil || control.isPublic || control.isPrivate || fields.contains(.expires)
      || rule.isShared && control.sharedMaxAge != nil
      || AnswerKind.allowsGuess(status)
    return mayBeKept ? nil : .status(status)
  }

  /// Fields that concern one connection, even if `Connection` does not list them.
  private static let hopByHop: Set<String> = [
    "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
    "proxy-connection", "te", "transfer-encoding", "upgrade",
  ]

  /// Returns the fields to store, without those of the connection.
  ///
  /// A content coding stays, as a loader names none that it has undone. Validators stay unchanged, with `W/` and quotes.
  package static func storable(_ fields: HTTPFields) -> HTTPFields {
    var listed: Set<String> = []
    for line in fields[values: .connection] {
      for member in ListReader.members(of: line) { listed.insert(member.lowercased()) }
    }
    var kept = HTTPFields()
    for field in fields {
      let name = field.name.canonicalName
      if hopByHop.contains(name) || listed.contains(name) { continue }
      kept.append(field)
    }
    return kept
  }
}
