public import BothyCore

/// The parts of an error that downloads add.
private struct DownloadDetails: ErrorDetails {
  var status: Int?
  var retryAfter: Duration?
}

extension BothyError {
  /// The status of the server's response to a download, or `nil` if none came.
  ///
  /// It may be 200, if the content isn't that of the source.
  public var status: Int? {
    get { self[DownloadDetails.self].status }
    set { self[DownloadDetails.self].status = newValue }
  }
  /// The time before the host gets another request, or `nil` if nothing is known about it.
  ///
  /// It is the pause that the server demands by `Retry-After`, or the rest of the pause of a host that counts as down.
  /// Until then a read of that host fails without a request, unless the source's `patience` covers the rest.
  ///
  /// ```swift
  /// do {
  ///   let menu = try await cache.data(at: menuURL)
  ///   show("\(menu.count) bytes")
  /// } catch let error as BothyError {
  ///   if let pause = error.retryAfter { show("Try again in \(pause).") }
  /// }
  /// ```
  public var retryAfter: Duration? {
    get { self[DownloadDetails.self].retryAfter }
    set { self[DownloadDetails.self].retryAfter = newValue }
  }

  /// Creates an error of a download, for tests and previews.
  package init(_ code: Code, _ message: String, status: Int?, retryAfter: Duration? = nil) {
    self.init(code, message)
    self[DownloadDetails.self] = DownloadDetails(status: status, retryAfter: retryAfter)
  }

  /// Creates an error of a download with a pause.
  package init(_ code: Code, _ message: String, retryAfter: Duration?) {
    self.init(code, message, status: nil, retryAfter: retryAfter)
  }

  /// The error of a resource that doesn't exist on the server.
  package static func absent(_ key: ResourceKey, _ found: CachedResource) -> BothyError {
    BothyError(
      .absent, "The server says that \(key) does not exist.", status: found.metadata.status)
  }

  /// The error of a read from a closed cache.
  static func closed(_ key: ResourceKey) -> BothyError {
    BothyError(.closed, "The cache is closed. Open it again to read \(key).")
  }

  /// The error of a time that is negative.
  static func negative(_ key: ResourceKey) -> BothyError {
    BothyError(
      .invalidConfiguration,
      "\(key): an expiration interval is not negative. Leave it out to follow the server.")
  }

  /// True if the error is one of downloads already, rather than one of the file below.
  package var isOfDownloads: Bool {
    [
      .unknownSource, .sourceConflict, .invalidSource, .invalidKey, .zoomOutOfRange, .invalidConfiguration,
      .notCached, .offline, .unreachable, .timedOut, .refused, .unexpectedContent, .tooLarge, .absent,
      .undecodable, .cancelled, .storage, .closed,
    ].contains(code)
  }

  /// True if the network is the reason, so that a later read may succeed.
  package var isOffline: Bool { code == .unreachable || code == .timedOut || code == .offline }
}
