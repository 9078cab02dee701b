/// What can go wrong in the cache: a code to branch on and a sentence that says what to do.
///
/// A failure of one read never harms what is stored: bytes and times stay as they were.
public struct CacheError: Error, Sendable, Hashable {
  /// What kind of failure it is. New codes may be added; compare, don't switch exhaustively.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private let name: String
    private init(_ name: String) { self.name = name }
    public var description: String { name }

    /// The source of the key was never registered.
    public static let unknownSource = Code("unknownSource")
    /// Another source has that id already.
    public static let sourceConflict = Code("sourceConflict")
    /// A source can't be as it is described: its address, its id, its hosts or its zooms.
    public static let invalidSource = Code("invalidSource")
    /// The address or tile is none of the source's.
    public static let invalidKey = Code("invalidKey")
    /// The source has no tiles of that zoom.
    public static let zoomOutOfRange = Code("zoomOutOfRange")
    /// A setting that can't be: a negative interval, a file that is no dictionary.
    public static let invalidConfiguration = Code("invalidConfiguration")
    /// Nothing is stored, and the read was not to ask the network.
    public static let notCached = Code("notCached")
    /// The network is suspended or there is none to ask, and nothing is stored.
    public static let offline = Code("offline")
    /// No connection, or it broke.
    public static let unreachable = Code("unreachable")
    /// The server took longer than `SourceLimits.timeout` to begin its answer or to go on with it.
    public static let timedOut = Code("timedOut")
    /// The server answered with a status that is no resource; see `status`.
    public static let refused = Code("refused")
    /// The answer is not what the source brings: a login page in place of a tile.
    public static let unexpectedContent = Code("unexpectedContent")
    /// The body is longer than the source allows.
    public static let tooLarge = Code("tooLarge")
    /// The server has said that there is no such resource.
    public static let absent = Code("absent")
    /// The bytes do not decode to the value asked for.
    public static let undecodable = Code("undecodable")
    /// The reader's task was cancelled. Others who wait for the same resource still get it.
    public static let cancelled = Code("cancelled")
    /// The store on disk failed.
    public static let storage = Code("storage")
    /// The cache was closed; nothing is read or loaded any more.
    public static let closed = Code("closed")
  }

  /// What kind of failure it is.
  public var code: Code
  /// One or two sentences: what happened to which resource, and what to do.
  public var message: String
  /// The status of the server's answer, when there was one.
  public var status: Int?
  /// How long the server wants to be left alone.
  public var retryAfter: Duration?

  /// For tests and previews of what shows errors; the cache makes its own.
  public init(_ code: Code, _ message: String, status: Int? = nil, retryAfter: Duration? = nil) {
    self.code = code
    self.message = message
    self.status = status
    self.retryAfter = retryAfter
  }

  /// Whether the network is the reason: another time may bring what this one did not.
  package var isOffline: Bool { code == .unreachable || code == .timedOut || code == .offline }
}

extension CacheError: CustomStringConvertible, CustomDebugStringConvertible {
  public var description: String { message }
  public var debugDescription: String { "CacheError.\(code): \(message)" }
}
