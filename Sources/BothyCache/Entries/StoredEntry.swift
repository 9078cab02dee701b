internal import Foundation
package import HTTPTypes
internal import Synchronization

/// One version of a resource's bytes inside the cache. It is reference-counted, never copied and never changed.
package final class StoredEntry: Sendable {
  package let entry: CacheEntry
  /// The number of the version, unique in this process, for code that keeps a result of the bytes but not the bytes.
  package let number: UInt64
  /// The entry's share of the budget in memory.
  package let cost: Int
  /// True if the entry is the response to some requests only, depending on their fields.
  package let isVaried: Bool

  package init(_ entry: CacheEntry) {
    self.entry = entry
    number = Self.numbers.add(1, ordering: .relaxed).newValue
    isVaried = !entry.metadata.variedOn.isEmpty
    cost = Self.overhead + entry.body.count + entry.metadata.storedFields.size
  }

  /// True if the entry is a response to a request with these fields (RFC 9111 §4.1).
  ///
  /// - Parameter exactly: true if the values must be those of the entry's own request. The language that a request
  ///   prefers doesn't count then. Several entries may answer a request, and the one that does so exactly goes first.
  package func answers(_ request: @autoclosure () -> HTTPFields, exactly: Bool = false) -> Bool {
    !isVaried
      || Vary.matches(
        entry.metadata.variedOn, request(),
        language: exactly ? nil : entry.metadata.fields[.contentLanguage])
  }

  package var isAbsent: Bool { AnswerKind.isNegative(entry.metadata.status) }

  private static let numbers = Atomic<UInt64>(0)

  /// The memory of the object, its metadata and its places in the tables, besides the bytes. Measured as about 500.
  private static let overhead = 512
}
