/// A failure in the cache, with a code to branch on and a message that says what to do.
///
/// A failed read never harms the stored entry. Its bytes and times do not change.
public struct CacheError: Error, Sendable, Hashable {
  /// The kind of a failure. Later versions may add codes, so compare codes instead of switching exhaustively.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private let name: String
    private init(_ name: String) { self.name = name }
    public var description: String { name }

    /// The source of the key isn't registered.
    public static let unknownSource = Code("unknownSource")
    /// Another source has that id already.
    public static let sourceConflict = Code("sourceConflict")
    /// The description of a source is invalid: its address, its id, its hosts or its zooms.
    public static let invalidSource = Code("invalidSource")
    /// The address or tile does not belong to the source.
    public static let invalidKey = Code("invalidKey")
    /// The source has no tiles of that zoom.
    public static let zoomOutOfRange = Code("zoomOutOfRange")
    /// A setting is invalid, such as a negative interval or a file that isn't a dictionary.
    public static let invalidConfiguration = Code("invalidConfiguration")
    /// The cache has no entry, and the read was limited to the cache.
    public static let notCached = Code("notCached")
    /// The cache has no entry, and its network is suspended or missing.
    public static let offline = Code("offline")
    /// The connection failed or broke.
    public static let unreachable = Code("unreachable")
    /// The server took longer than `SourceLimits.timeout` to begin or to continue its response.
    public static let timedOut = Code("timedOut")
    /// The server responded with a status that isn't a resource. See `status`.
    public static let refused = Code("refused")
    /// The response isn't content of the source, such as a login page instead of a tile.
    public static let unexpectedContent = Code("unexpectedContent")
    /// The body is longer than the source allows.
    public static let tooLarge = Code("tooLarge")
    /// The server has said that the resource does not exist.
    public static let absent = Code("absent")
    /// The bytes do not decode to the requested value.
    public static let undecodable = Code("undecodable")
    /// The reader's task was cancelled. Other readers of the resource still receive it.
    public static let cancelled = Code("cancelled")
    /// The store on disk failed.
    public static let storage = Code("storage")
    /// The cache is closed and no longer reads or loads.
    public static let closed = Code("closed")
  }

  /// The kind of the failure.
  public var code: Code
  /// One or two sentences that name the resource, the failure and what to do.
  public var message: String
  /// The status of the server's response, if one came.
  public var status: Int?
  /// The pause that the server demands before the next request.
  public var retryAfter: Duration?

  /// Creates an error for tests and previews. The cache creates its own errors.
  public init(_ code: Code, _ message: String, status: Int? = nil, retryAfter: Duration? = nil) {
    self.code = code
    self.message = message
    self.status = status
    self.retryAfter = retryAfter
  }

  /// True if the network is the reason, so that a later read may succeed.
  package var isOffline: Bool { code == .unreachable || code == .timedOut || code == .offline }
}

extension CacheError: CustomStringConvertible, CustomDebugStringConvertible {
  public var description: String { message }
  public var debugDescription: String { "CacheError.\(code): \(message)" }
}
