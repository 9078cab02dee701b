internal import Foundation
package import HTTPTypes

/// One version of a resource's bytes as it is passed around inside the cache: counted, never copied, never changed.
package final class StoredEntry: Sendable {
  package let entry: CacheEntry
  /// What it takes of the budget in memory.
  package let cost: Int
  /// Whether it is the answer to some requests only, by what they say.
  package let isVaried: Bool

  package init(_ entry: CacheEntry) {
    self.entry = entry
    isVaried = !entry.metadata.variedOn.isEmpty
    cost = Self.overhead + entry.body.count + entry.metadata.storedFields.bytes.count
  }

  /// Whether it is the answer to a request that says this (RFC 9111 §4.1).
  package func answers(_ request: @autoclosure () -> HTTPFields) -> Bool {
    !isVaried || Vary.matches(entry.metadata.variedOn, request())
  }

  package var isAbsent: Bool { AnswerKind.isNegative(entry.metadata.status) }

  /// What the object, its metadata and its place in the tables take besides the bytes: measured about 500.
  private static let overhead = 512
}
