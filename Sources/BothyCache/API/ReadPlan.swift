/// The decision about the steps of a read, from the stored entry and the state of the network.
///
/// A stale entry under `localElseRemote`, with a network:
///
/// | by its rule and server | pinned, or a tile on the screen | else on the screen | else |
/// |---|---|---|---|
/// | usable during a refresh | at once | at once | at once |
/// | usable instead of a failed response | at once | at once | after the patience of the source |
/// | not usable (`must-revalidate`, `no-cache`, `staleUse`) | at once | never | never |
///
/// HTTP forbids the use in the last row (RFC 9111 §4.2.4). Pinned entries and tiles on the screen are exceptions, and
/// `EntryState` never calls them unusable. A request with `no-cache` is none. What is used at once is refreshed in the
/// background, and so is what is used after a wait. Without a network the same entries are used, and nothing is sent.
package enum ReadPlan: Equatable, Sendable {
  /// Return the stored entry, as fresh for `nil`, else as stale for this reason. Sends no request.
  case serve(CachedResource.StaleReason?)
  /// Return the stored entry, and request the resource in the background.
  ///
  /// A failure of the request does not concern the read.
  case serveAndRefresh
  /// Request the resource from the server.
  ///
  /// With `mayFallBack` the stored entry replaces a failed or late response, and the request is tried once.
  case request(isConditional: Bool, mayFallBack: Bool)
  case fail(BothyError.Code)

  /// Decides on the steps of a read.
  /// - Parameters:
  ///   - stored: the permitted use of the stored entry, or `nil` if the cache has none.
  ///   - hasNetwork: false if the network is suspended, known to be offline, or missing.
  ///   - isAtOnce: true if the entry is pinned or on the screen. One that may replace a failed response is then returned
  ///     before the request.
  ///   - ignoresStored: true if the request carries no condition, and no stored entry answers the read.
  package init(
    _ policy: ReadPolicy, stored: EntryState?, hasNetwork: Bool, isAtOnce: Bool = false,
    ignoresStored: Bool = false
  ) {
    if policy == .local {
      self = stored.map { .serve($0.isFresh ? nil : .notChecked) } ?? .fail(.notCached)
      return
    }
    if ignoresStored {
      self = hasNetwork ? .request(isConditional: false, mayFallBack: false) : .fail(.offline)
      return
    }
    guard hasNetwork else {
      self = Self.withoutNetwork(policy, stored)
      return
    }
    switch (policy, stored) {
    case (.local, _): self = .request(isConditional: false, mayFallBack: false)
    case (_, let stored?) where stored.isFresh && stored.isImmutable: self = .serve(nil)
    case (.remote, let stored): self = .request(isConditional: stored != nil, mayFallBack: false)
    case (_, nil): self = .request(isConditional: false, mayFallBack: false)
    case (.remoteElseLocal, let stored?), (.syncThenLocal, let stored?):
      self = .request(isConditional: true, mayFallBack: stored.isUsableOnError)
    case (.localThenRemote, let stored?): self = stored.isFresh ? .serve(nil) : .serveAndRefresh
    case (.localElseRemote, let stored?):
      switch stored.state {
      case .fresh: self = .serve(nil)
      case .staleWhileRevalidate: self = .serveAndRefresh
      case .staleIfError where isAtOnce: self = .serveAndRefresh
      case .staleIfError, .stale, .mustRevalidate:
        self = .request(isConditional: true, mayFallBack: stored.isUsableOnError)
      }
    }
  }

  private static func withoutNetwork(_ policy: ReadPolicy, _ stored: EntryState?) -> ReadPlan {
    guard let stored else { return .fail(.offline) }
    switch policy {
    case .remote: return stored.isFresh && stored.isImmutable ? .serve(nil) : .fail(.offline)
    case .localThenRemote: return .serve(stored.isFresh ? nil : .noNetwork)
    case .local, .localElseRemote, .remoteElseLocal, .syncThenLocal:
      if stored.isFresh { return .serve(nil) }
      return stored.isUsableOnError ? .serve(.noNetwork) : .fail(.offline)
    }
  }
}
