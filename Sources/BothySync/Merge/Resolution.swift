import BothyStore

/// The decision of a typed rule about a conflict.
///
/// ```swift
/// store.options.merging.set(for: Hut.self) { conflict in
///   guard let mine = conflict.local, let theirs = conflict.remote else { return .remote }
///   return mine.beds <= theirs.beds ? .local : .remote
/// }
/// ```
public enum Resolution<E: Entity>: Sendable {
  /// The local record stays and is sent. A deletion here is kept.
  case local
  /// The server's record replaces the local one, which the journal has then.
  case remote
  /// This value replaces the record under its id. What differs from the server's record is sent.
  ///
  /// Where the value has nothing new, the server's content stays: fields that this app doesn't know or can't read, and
  /// secrets.
  case merged(E)
}
