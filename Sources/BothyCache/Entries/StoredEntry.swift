internal import Foundation
package import HTTPTypes
internal import Synchronization

/// One version of a resource's bytes as it is passed around inside the cache: counted, never copied, never changed.
package final class StoredEntry: Sendable {
  package let entry: CacheEntry
  /// Which one it is, of all in this process: for those who keep what they made of it, and not it itself.
  package let number: UInt64
  /// What it takes of the budget in memory.
  package let cost: Int
  /// Whether it is the answer to some requests only, by what they say.
  package let isVaried: Bool

  package init(_ entry: CacheEntry) {
    self.entry = entry
    number = Self.numbers.add(1, ordering: .relaxed).newValue
    isVaried = !entry.metadata.variedOn.isEmpty
    cost = Self.overhead + entry.body.count + entry.metadata.storedFields.bytes.count
  }

  /// Whether it is the answer to a request that says this (RFC 9111 §4.1).
  package func answers(_ request: @autoclosure () -> HTTPFields) -> Bool {
    !isVaried || Vary.matches(entry.metadata.variedOn, request())
  }

  package var isAbsent: Bool { AnswerKind.isNegative(entry.metadata.status) }

  private static let numbers = Atomic<UInt64>(0)

  /// What the object, its metadata and its place in the tables take besides the bytes: measured about 500.
  private static let overhead = 512
}
