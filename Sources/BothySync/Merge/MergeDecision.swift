import BothyStore

/// The decision of a merge policy.
package enum MergeDecision: Sendable, Hashable {
  /// The local state stays and is sent, against the server's present version.
  case client
  /// The server's state replaces the local one, which the journal has then.
  case server
  /// These fields replace the whole record. Those that differ from the server's are sent.
  case merged([String: JSONValue])
}
