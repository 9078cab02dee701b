/// An error of a pack: a code to compare, a message that says what to do, and the cause.
///
/// If opening or installing a pack throws, the earlier state is unchanged. A query that doesn't fit the schema throws
/// `StoreError`, like other queries.
public struct PackError: Error, Sendable {
  /// The kind of an error. New codes may be added, so compare codes and don't switch exhaustively.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private let name: String
    private init(_ name: String) { self.name = name }
    public var description: String { name }

    /// The folder has no pack.
    public static let notFound = Code("notFound")
    /// The manifest isn't valid.
    public static let corruptManifest = Code("corruptManifest")
    /// The manifest has a later format than this version of Bothy supports.
    public static let newerFormat = Code("newerFormat")
    /// The manifest names a file outside of its folder.
    public static let unsafeName = Code("unsafeName")
    /// The pack lacks fields that the app's types need.
    public static let schemaMismatch = Code("schemaMismatch")
    /// A file is missing, has another length than in the manifest, or isn't a database of this pack.
    public static let damagedFile = Code("damagedFile")
    /// A file has other bytes than the manifest states.
    public static let checksumMismatch = Code("checksumMismatch")
    /// The pack isn't the one that is installed or was requested.
    public static let wrongPack = Code("wrongPack")
    /// The rows for building a pack aren't valid.
    public static let invalidInput = Code("invalidInput")
    /// The pack could not be loaded.
    public static let download = Code("download")
    /// Another process is installing in the folder.
    public static let busy = Code("busy")
    /// A folder or file can't be written.
    public static let cannotWrite = Code("cannotWrite")
    /// The task was cancelled. The installed version is unchanged.
    public static let cancelled = Code("cancelled")
    /// The pack was closed, and the read needs a file that is no longer open.
    public static let closed = Code("closed")
  }

  /// The kind of error.
  public var code: Code
  /// One or two sentences: what happened, to which pack or file, and what to do.
  public var message: String
  /// The error of the store, the system or the network that caused it, or `nil` if the pack itself is the cause.
  public var underlying: (any Error)?

  init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }
}

extension PackError: CustomStringConvertible, CustomDebugStringConvertible {
  public var description: String { message }

  public var debugDescription: String {
    let cause = underlying.map { " (cause: \(String(reflecting: $0)))" } ?? ""
    return "PackError.\(code): \(message)\(cause)"
  }
}
