import BothyCore

/// Errors of loads, as readers receive them.
extension BothyError {
  /// Translates a failure to load for readers.
  init(_ failure: LoadFailure, _ key: ResourceKey) {
    let message = "\(key): \(failure.description)"
    switch failure.reason {
    case .unreachable, .truncated: self.init(.unreachable, message)
    case .timedOut: self.init(.timedOut, message)
    case .cancelled: self.init(.cancelled, message)
    case .suspended: self.init(.offline, message)
    case .tooLarge: self.init(.tooLarge, message)
    case .unexpectedType: self.init(.unexpectedContent, message)
    case .invalidRequest: self.init(.refused, message)
    case .redirectRefused: self.init(.refused, message, underlying: failure)
    case .notBefore(let wait): self.init(.unreachable, message, retryAfter: wait)
    }
  }

  /// Translates a response that isn't usable for readers.
  init(_ failure: ResponseError, _ key: ResourceKey) {
    let wait = failure.retryAfter.map { Duration.milliseconds($0) }
    if let mismatch = failure.mismatch {
      self.init(mismatch, failure.status, wait, key)
      return
    }
    let hint = failure.isTransient ? "Another try later may bring it." : "Another try will not help."
    self.init(
      .refused, "\(key): the server answered \(failure.status). \(hint)", status: failure.status,
      retryAfter: wait)
  }

  private init(_ mismatch: ContentMismatch, _ status: Int, _ wait: Duration?, _ key: ResourceKey) {
    let what: String
    switch mismatch {
    case .gone:
      self.init(
        .absent,
        "\(key): the server says that it no longer exists (\(status)). The copy that is pinned or in use stays. Unpin "
          + "or remove it if you don't need it.", status: status, retryAfter: wait)
      return
    case .cut:
      self.init(
        .unreachable, "\(key): the connection was closed before the answer came to its end.", status: status,
        retryAfter: wait)
      return
    case .empty: what = "nothing"
    case .mediaType(let type): what = type
    case .bytes: what = "other bytes"
    case .otherPicture(let form): what = "another picture (\(form))"
    case .otherHost(let host): what = "what another host has (\(host))"
    }
    self.init(
      .unexpectedContent,
      "\(key): the server sent \(what) in place of what the source brings, as sign-in pages of networks do.",
      status: status, retryAfter: wait)
    underlying = mismatch
  }
}
