/// What can go wrong in the map room: a code to branch on, a sentence that says what to do, and the cause.
public struct GeoError: Error, Sendable {
  /// What kind of failure it is. New codes may be added; compare, don't switch exhaustively.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private let name: String
    private init(_ name: String) { self.name = name }
    public var description: String { name }

    /// A latitude, longitude, radius or box that is no number or out of range.
    public static let invalidCoordinate = Code("invalidCoordinate")
    /// A column, row or zoom that no tile has.
    public static let invalidTile = Code("invalidTile")
    /// A text or number that names no tile.
    public static let invalidKey = Code("invalidKey")
    /// A zoom that the source does not have.
    public static let zoomOutOfRange = Code("zoomOutOfRange")
    /// An area that needs more tiles than allowed.
    public static let tooManyTiles = Code("tooManyTiles")
    /// Bytes that are no tile of the expected format.
    public static let notATile = Code("notATile")
    /// A category table that can't be read.
    public static let invalidCategories = Code("invalidCategories")
    /// A file that is no archive of tiles, or one of an unknown version.
    public static let notAnArchive = Code("notAnArchive")
    /// An archive that contradicts itself or can't be read to its end.
    public static let damagedArchive = Code("damagedArchive")
    /// An archive that was replaced by another while it was being read.
    public static let changedArchive = Code("changedArchive")
    /// A file or address that can't be read or written.
    public static let unavailable = Code("unavailable")
    /// A file of places that was damaged and begun anew.
    public static let damagedPlaces = Code("damagedPlaces")
    /// A definition of a source of tiles that contradicts itself.
    public static let invalidSource = Code("invalidSource")
    /// An area that can't be loaded: without a name, of no source, of no tiles.
    public static let invalidRegion = Code("invalidRegion")
    /// A source whose owner forbids to load in bulk what nobody looks at.
    public static let bulkForbidden = Code("bulkForbidden")
    /// There is a region of this name already.
    public static let regionExists = Code("regionExists")
    /// There is no such region.
    public static let unknownRegion = Code("unknownRegion")
    /// Somebody else, in this process or another, is loading the region.
    public static let regionBusy = Code("regionBusy")
    /// Loading stopped before the end; resuming goes on where it was.
    public static let interrupted = Code("interrupted")
  }

  /// What kind of failure it is.
  public var code: Code
  /// One or two sentences: what happened, and what to do.
  public var message: String
  /// The error that caused it, as the system or SQLite gave it; nil when the map itself refused.
  public var underlying: (any Error)?

  /// For sources of archives of one's own, in the terms of the map.
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
