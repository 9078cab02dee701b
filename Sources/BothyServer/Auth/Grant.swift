import BothySyncService

/// The rights that a token grants: the user, the spaces and the end.
struct Grant: Sendable, Equatable {
  var user: Caller
  /// The spaces that the token names. It names none if the back end decides about them.
  var spaces: Set<String>
  /// The first moment at which the token no longer holds, in milliseconds since 1970, or `nil` if it doesn't end.
  var end: Int64?
  /// The question to the back end that decides about the spaces, or `nil` if the token does.
  var question: SpaceQuestion?

  func admits(to space: String) -> Bool { spaces.contains("*") || spaces.hasName(space) }
}

/// The reason why a token opens nothing. The audit log has the word. Callers learn only that a token has ended.
enum TokenRefusal: String, Error {
  case missing, unknown, expired, notYet, malformed, algorithm, signature, issuer, audience, claims
}

/// The names that tokens may give to users and groups, in the one form of names.
enum UserName {
  /// Returns false for a name with the prefix of groups. A user with such a name could pose as any group.
  static func isValid(_ name: String) -> Bool {
    (1...512).contains(name.utf8.count) && name.isNormalName
      && !name.utf8.contains(0) && !name.utf8.starts(with: Caller.groupPrefix.utf8)
  }

  static func isValidGroup(_ name: String) -> Bool {
    (1...500).contains(name.utf8.count) && !name.utf8.contains(0) && name.isNormalName
  }
}
