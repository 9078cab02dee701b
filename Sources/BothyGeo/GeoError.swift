/// An error of BothyGeo: a code to compare, a message that says what to do, and the cause.
public struct GeoError: Error, Sendable {
  /// The kind of an error. New codes may be added, so compare codes and don't switch exhaustively.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private let name: String
    private init(_ name: String) { self.name = name }
    public var description: String { name }

    /// A latitude, longitude, radius or box that isn't a number or is out of range.
    public static let invalidCoordinate = Code("invalidCoordinate")
    /// A column, row or zoom that no tile has.
    public static let invalidTile = Code("invalidTile")
    /// A text or number that doesn't name a tile.
    public static let invalidKey = Code("invalidKey")
    /// A zoom that the source doesn't have.
    public static let zoomOutOfRange = Code("zoomOutOfRange")
    /// An area that needs more tiles than allowed.
    public static let tooManyTiles = Code("tooManyTiles")
    /// Bytes that aren't a tile of the expected format.
    public static let notATile = Code("notATile")
    /// A category table that can't be read.
    public static let invalidCategories = Code("invalidCategories")
    /// A file that isn't an archive of tiles, or one of an unknown version.
    public static let notAnArchive = Code("notAnArchive")
    /// An archive that contradicts itself or can't be read to its end.
    public static let damagedArchive = Code("damagedArchive")
    /// An archive that was replaced by another while it was being read.
    public static let changedArchive = Code("changedArchive")
    /// A file or address that can't be read or written.
    public static let unavailable = Code("unavailable")
    /// A file of places that was damaged and recreated.
    public static let damagedPlaces = Code("damagedPlaces")
    /// A definition of a source of tiles that contradicts itself.
    public static let invalidSource = Code("invalidSource")
    /// A region that can't be loaded because it has no name, no source or no tiles.
    public static let invalidRegion = Code("invalidRegion")
    /// A source whose owner forbids loading tiles in bulk before they are viewed.
    public static let bulkForbidden = Code("bulkForbidden")
    /// A region of this name exists already.
    public static let regionExists = Code("regionExists")
    /// The region doesn't exist.
    public static let unknownRegion = Code("unknownRegion")
    /// Another task or process is loading the region.
    public static let regionBusy = Code("regionBusy")
    /// Loading stopped before the end. Resuming continues it.
    public static let interrupted = Code("interrupted")
  }

  /// The kind of error.
  public var code: Code
  /// One or two sentences: what happened, and what to do.
  public var message: String
  /// The error of the system or of SQLite that caused it, or `nil` if BothyGeo itself found the problem.
  public var underlying: (any Error)?

  /// Creates an error, for your own sources of archives.
  public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }
}

extension GeoError: CustomStringConvertible, CustomDebugStringConvertible {
  public var description: String { message }

  public var debugDescription: String {
    let cause = underlying.map { " (cause: \(String(reflecting: $0)))" } ?? ""
    return "GeoError.\(code): \(message)\(cause)"
  }
}

extension GeoError {
  static func taken(_ path: String) -> GeoError {
    GeoError(.unavailable, "There is a file at \(path) already. Choose another path, or remove it first.")
  }
}
