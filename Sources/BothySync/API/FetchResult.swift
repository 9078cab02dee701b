/// The records of a read, and where they come from: a collection of the records.
///
/// All records are in memory. It is a value, so later changes of the store don't change it.
///
/// ```swift
/// let found = try await store.fetchResult(Todo.all, policy: .remoteElseLocal)
/// for todo in found { print(todo.title) }
/// if found.origin == .local { print("offline") }
/// ```
public struct FetchResult<Element: Sendable>: RandomAccessCollection, Sendable {
  /// The source of the answer. Pending changes are included in both cases.
  public enum Origin: String, Sendable, Hashable {
    /// The server, for this read; pending changes are merged in. Under `.syncThenLocal` a sync has ended well
    /// before the read.
    case remote
    /// The local store: the server was not asked, or did not answer.
    case local
  }

  /// The records in the order of the query, pending changes included. Empty if no record matches.
  public var records: [Element]
  /// The source of the answer: the server or the local store. A read under `.local` always has `local`.
  public var origin: Origin
  /// True if all records of the query are known to be here. Then its container was pulled in full, or the
  /// server has answered this query or one that includes it.
  ///
  /// False doesn't mean that records are missing. Use it to tell an empty list from one that was never loaded.
  public var isComplete: Bool
  /// The time since the server last answered this query, by the device's clock, or `nil` if it isn't complete.
  ///
  /// Zero for an answer of the server. After a relaunch it may seem up to an hour older than it is, never
  /// newer.
  public var age: Duration?
  /// Ids among the values that are known to be out of date: a save of them reached the server and its answer was
  /// not kept.
  package var stale: Set<String> = []

  /// The position of the first record: 0.
  public var startIndex: Int { records.startIndex }
  /// The position after the last record, which is the number of records.
  public var endIndex: Int { records.endIndex }
  /// The record at a position below `endIndex`. Another position is a programming error and ends the process.
  public subscript(position: Int) -> Element { records[position] }
}
