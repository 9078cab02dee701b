package import Foundation
package import HTTPTypes

/// A response that is about to be stored.
package struct ReplacementCandidate: Sendable {
  package var key: ResourceKey
  package var status: Int
  package var fields: HTTPFields
  package var body: Data
  /// The entry that the response replaces.
  package var stored: CacheEntry?
  /// The other host that a redirect over plain HTTP led to, or `nil`.
  package var strangeHost: String?

  /// True if the response says that the resource does not exist.
  package var isNegative: Bool { AnswerKind.isNegative(status) }
}
