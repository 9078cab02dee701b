/// What can go wrong with a pack: a code to branch on, a sentence that says what to do, and the cause.
///
/// Whatever is thrown while one is opened or installed, what was there before is as it was. A query that does not fit the
/// schema throws `StoreError`, as everywhere.
public struct PackError: Error, Sendable {
  /// What kind of failure it is. New codes may be added; compare, don't switch exhaustively.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private let name: String
    private init(_ name: String) { self.name = name }
    public var description: String { name }

    /// There is no pack in that folder.
    public static let notFound = Code("notFound")
    /// The manifest is no manifest.
    public static let corruptManifest = Code("corruptManifest")
    /// The manifest is of a later format than this version of Bothy knows.
    public static let newerFormat = Code("newerFormat")
    /// The manifest names a file outside of its folder.
    public static let unsafeName = Code("unsafeName")
    /// The pack does not have the fields that the app's types need.
    public static let schemaMismatch = Code("schemaMismatch")
    /// A file is missing, of another length than the manifest says, or no database of this pack.
    public static let damagedFile = Code("damagedFile")
    /// A file has other bytes than the manifest says.
    public static let checksumMismatch = Code("checksumMismatch")
    /// Another pack than the one that is installed there, or than the one that was asked for.
    public static let wrongPack = Code("wrongPack")
    /// The rows that a pack is built of are no such rows.
    public static let invalidInput = Code("invalidInput")
    /// The pack could not be loaded.
    public static let download = Code("download")
    /// Another process installs there.
    public static let busy = Code("busy")
    /// A folder or file can't be written.
    public static let cannotWrite = Code("cannotWrite")
    /// The task was cancelled; what was installed before is as it was.
    public static let cancelled = Code("cancelled")
    /// The pack was closed, and the read needs a file that is not open any more.
    public static let closed = Code("closed")
  }

  /// What kind of failure it is.
  public var code: Code
  /// One or two sentences: what happened, to which pack or file, and what to do.
  public var message: String
  /// The error that caused it, as the store, the system or the network gave it; nil when the pack itself is at fault.
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
