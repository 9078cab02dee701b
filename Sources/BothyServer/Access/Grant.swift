import BothySyncService

/// What a token opens: for whom, which spaces, until when.
struct Grant: Sendable, Equatable {
  var principal: Principal
  var spaces: Set<String>
  /// The first moment at which it no longer holds, in milliseconds since 1970; nil for one that does not end.
  var end: Int64?

  func admits(to space: String) -> Bool { spaces.contains("*") || spaces.contains(space) }
}

/// Why a token opens nothing. The word goes to the audit log; callers learn no more than that a token has ended.
enum TokenRefusal: String, Error {
  case missing, unknown, expired, notYet, malformed, algorithm, signature, issuer, audience, claims
}

/// Names that tokens may say principals and groups have.
enum PrincipalName {
  /// No name of a group in place of a principal's own: whoever may choose its name could be any group.
  static func isValid(_ name: String) -> Bool {
    (1...512).contains(name.utf8.count) && !name.utf8.contains(0) && !name.hasPrefix(Principal.groupPrefix)
  }

  static func isValidGroup(_ name: String) -> Bool {
    (1...500).contains(name.utf8.count) && !name.utf8.contains(0)
  }
}
