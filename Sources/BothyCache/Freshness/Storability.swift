package import HTTPTypes

/// Why an answer is handed out but not kept.
public enum NotStoredReason: Sendable, Hashable {
  /// Only answers to GET are kept.
  case method
  /// The request says `no-store`.
  case requestForbids
  /// The answer says `no-store`.
  case answerForbids
  /// A part (206), or a 304 of its own.
  case incomplete
  /// The status is none that may be kept, with what the fields say.
  case status(Int)
}

/// Decides whether an answer may be kept (RFC 9111 §3) and what of its fields is (§3.1).
package enum Storability {
  /// Nil when it may be kept.
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
    if kind == .body || kind == .negative { return nil }
    guard rule.keepsEveryStatus else { return .status(status) }
    let mayBeKept =
      control.maxAge != nil || control.isPublic || control.isPrivate || fields.contains(.expires)
      || AnswerKind.allowsGuess(status)
    return mayBeKept ? nil : .status(status)
  }

  /// Fields that concern one connection, whatever it says of them.
  private static let hopByHop: Set<String> = [
    "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
    "proxy-connection", "te", "transfer-encoding", "upgrade",
  ]

  /// Content codings that transports undo.
  private static let undone: Set<String> = ["gzip", "x-gzip", "deflate", "br", "zstd"]

  /// The fields to keep: without those of the connection, and without the content coding and its length where the
  /// transport has undone it. Validators stay as they are, `W/` and quotes included.
  package static func storable(_ fields: HTTPFields, decodes: Bool = true) -> HTTPFields {
    var listed: Set<String> = []
    for line in fields[values: .connection] {
      for member in ListReader.members(of: line) { listed.insert(member.lowercased()) }
    }
    let coding = fields[.contentEncoding]?.lowercased()
    let isUndone = decodes && coding.map { undone.contains($0) } ?? false
    var kept = HTTPFields()
    for field in fields {
      let name = field.name.canonicalName
      if hopByHop.contains(name) || listed.contains(name) { continue }
      if isUndone, field.name == .contentEncoding || field.name == .contentLength { continue }
      kept.append(field)
    }
    return kept
  }
}
