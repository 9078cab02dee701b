internal import Foundation

/// One version of a resource's bytes as it is passed around inside the cache: counted, never copied, never changed.
package final class StoredEntry: Sendable {
  package let entry: CacheEntry
  /// What it takes of the budget in memory.
  package let cost: Int

  package init(_ entry: CacheEntry) {
    self.entry = entry
    cost = Self.overhead + entry.body.count + entry.metadata.storedFields.bytes.count
  }

  package var isAbsent: Bool { AnswerKind.isNegative(entry.metadata.status) }

  /// What the object, its metadata and its place in the tables take besides the bytes: measured about 500.
  private static let overhead = 512
}
