/// What a read does, given what is stored and whether there is a network: a decision, no act.
package enum ReadPlan: Equatable, Sendable {
  /// Hand out what is stored: fresh for nil, else marked as stale for this reason.
  case serve(StaleReason?)
  /// Hand out what is stored, and ask the server behind the reader's back.
  case serveAndRefresh
  /// Ask the server.
  case ask(isConditional: Bool, mayFallBack: Bool)
  case fail(CacheError.Code)

  /// - Parameters:
  ///   - stored: the use that may be made of what is stored; nil when there is nothing.
  ///   - hasNetwork: false when the network is suspended, known to be away, or the cache has none.
  ///   - isAtOnce: whether what may stand in for a server that fails is handed out before it is asked.
  package init(_ mode: ReadMode, stored: Usability?, hasNetwork: Bool, isAtOnce: Bool = false) {
    if mode == .cacheOnly {
      self = stored.map { .serve($0.isFresh ? nil : .notChecked) } ?? .fail(.notCached)
      return
    }
    guard hasNetwork else {
      self = Self.withoutNetwork(mode, stored)
      return
    }
    switch (mode, stored) {
    case (.cacheOnly, _), (.networkOnly, _): self = .ask(isConditional: false, mayFallBack: false)
    case (.revalidate, let stored?) where stored.isFresh && stored.isImmutable: self = .serve(nil)
    case (.revalidate, let stored): self = .ask(isConditional: stored != nil, mayFallBack: false)
    case (_, nil): self = .ask(isConditional: false, mayFallBack: false)
    case (.networkElseCache, let stored?):
      self = .ask(isConditional: true, mayFallBack: stored.isUsableOnError)
    case (.staleThenFresh, let stored?): self = stored.isFresh ? .serve(nil) : .serveAndRefresh
    case (.cacheElseNetwork, let stored?):
      switch stored.state {
      case .fresh: self = .serve(nil)
      case .staleWhileRevalidate: self = .serveAndRefresh
      case .staleIfError where isAtOnce: self = .serveAndRefresh
      case .staleIfError, .stale, .mustRevalidate:
        self = .ask(isConditional: true, mayFallBack: stored.isUsableOnError)
      }
    }
  }

  private static func withoutNetwork(_ mode: ReadMode, _ stored: Usability?) -> ReadPlan {
    guard let stored else { return .fail(.offline) }
    switch mode {
    case .networkOnly: return .fail(.offline)
    case .revalidate: return stored.isFresh && stored.isImmutable ? .serve(nil) : .fail(.offline)
    case .staleThenFresh: return .serve(stored.isFresh ? nil : .noNetwork)
    case .cacheOnly, .cacheElseNetwork, .networkElseCache:
      if stored.isFresh { return .serve(nil) }
      return stored.isUsableOnError ? .serve(.noNetwork) : .fail(.offline)
    }
  }
}
