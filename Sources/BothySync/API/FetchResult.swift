/// The records of a read, and where they come from: a collection of the records.
///
/// ```swift
/// let found = try await store.fetchResult(Todo.all, policy: .remoteElseLocal)
/// for todo in found { print(todo.title) }
/// if found.origin == .local { print("offline") }
/// ```
public struct FetchResult<Element: Sendable>: RandomAccessCollection, Sendable {
  /// Who gave the answer.
  public enum Origin: String, Sendable, Hashable {
    /// The server, for this read; pending changes are merged in.
    case remote
    /// The local store: the server was not asked, or did not answer.
    case local
  }

  /// The records in the order of the query, pending changes included.
  public var records: [Element]
  /// Whether the server answered this read or the local store did.
  public var origin: Origin
  /// Whether all there is for the query is known to be here: its container was pulled in full, or the server was
  /// asked this, or something that includes it, before.
  public var isComplete: Bool
  /// How long ago the server was last asked; nil when it never was.
  public var age: Duration?
  /// Ids among the values that are known to be out of date: a save of them reached the server and its answer was
  /// not kept.
  package var stale: Set<String> = []

  public var startIndex: Int { records.startIndex }
  public var endIndex: Int { records.endIndex }
  public subscript(position: Int) -> Element { records[position] }
}
