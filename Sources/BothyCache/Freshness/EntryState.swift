internal import BothyStore

/// The permitted use of a stored entry at one time, under one rule.
///
/// It is computed by comparing stored numbers. It reads no fields, parses no dates and allocates nothing.
package struct EntryState: Sendable, Hashable {
  /// The permitted use before a request to the server or instead of it, from best to worst.
  package enum State: UInt8, Sendable, Hashable, CaseIterable {
    /// It may be used without a request. Its `freshFor` is positive.
    case fresh
    /// It may be used at once, with a refresh in the background.
    case staleWhileRevalidate
    /// The request comes first. If the server fails or is unreachable, the entry may be used, marked as stale.
    ///
    /// A pinned entry, or a tile on the screen, is never worse than this.
    case staleIfError
    /// It is too stale for use, but good for a conditional request. `ReadPolicy.local` returns it nevertheless.
    case stale
    /// The server demands that it isn't used without a request. `ReadPolicy.local` and `.localThenRemote` return it
    /// nevertheless.
    case mustRevalidate
  }

  /// The permitted use.
  package var state: State
  /// Milliseconds since the time from which the rule counts. Never negative.
  package var age: Int64
  /// Milliseconds until the entry is stale, negative after that. `Int64.max` if it never becomes stale.
  package var freshFor: Int64
  /// The origin of the end of its freshness.
  package var origin: FreshnessMetadata.Origin
  /// True if even a reload sends no request (RFC 8246).
  package var isImmutable: Bool

  package init(
    state: State, age: Int64, freshFor: Int64, origin: FreshnessMetadata.Origin, isImmutable: Bool = false
  ) {
    self.state = state
    self.age = age
    self.freshFor = freshFor
    self.origin = origin
    self.isImmutable = isImmutable
  }

  /// True if the entry may be returned before a request to the server.
  package var isUsableAtOnce: Bool { state.rawValue <= State.staleWhileRevalidate.rawValue }
  /// True if the entry may be returned after the server failed or was unreachable.
  package var isUsableOnError: Bool { state.rawValue <= State.staleIfError.rawValue }
  /// True if the entry may be used without a request.
  package var isFresh: Bool { state == .fresh }

  /// The largest time by which an entry's receipt may be ahead of the clock. Beyond it, the clock was set back.
  package static let clockTolerance: Int64 = 5 * 60_000
}

extension EntryState {
  /// Determines the use of an entry.
  /// - Parameters:
  ///   - now: milliseconds since 1970 by the device's clock.
  ///   - isPinned: true if the entry is pinned, or a tile on the screen. It is then used without a network, whatever its
  ///     fields say. That departs from RFC 9111 §4.2.4 on purpose, because users pin entries for places without a
  ///     network.
  package init(
    of entry: EntryMetadata, under rule: FreshnessRule, at now: Int64, isPinned: Bool = false
  ) {
    let span = FreshSpan(of: entry, under: rule, at: now)
    let isImmutable =
      rule.base == .immutable
      || (span.freshFor > 0 && entry.freshness.flags.contains(.immutable) && span.followsFields)
    let clockWentBack =
      entry.validatedAt.subtractingClamped(now) > Self.clockTolerance && span.freshFor != .max
    let state: State
    if span.freshFor > 0, !clockWentBack {
      state = .fresh
    } else {
      let staleFor = clockWentBack ? Int64.max : Int64(0).subtractingClamped(span.freshFor)
      state = Self.stale(entry, rule, staleFor, clockWentBack, span.followsFields, isPinned)
    }
    self.init(
      state: state, age: span.age, freshFor: clockWentBack ? min(0, span.freshFor) : span.freshFor,
      origin: span.origin, isImmutable: isImmutable)
  }

  private static func stale(
    _ entry: EntryMetadata, _ rule: FreshnessRule, _ staleFor: Int64, _ clockWentBack: Bool,
    _ followsFields: Bool, _ isPinned: Bool
  ) -> State {
    let terms = entry.freshness
    let isForbidden = followsFields && !terms.flags.isDisjoint(with: [.mustRevalidate, .noCache])
    if isForbidden { return isPinned ? .staleIfError : .mustRevalidate }
    let window = rule.staleWhileRevalidate ?? (followsFields ? terms.staleWhileRevalidate : 0)
    if staleFor < window, !clockWentBack { return .staleWhileRevalidate }
    if isPinned || clockWentBack { return .staleIfError }
    guard let longest = rule.staleUse else { return .staleIfError }
    return staleFor < max(longest.wholeMilliseconds, terms.staleIfError) ? .staleIfError : .stale
  }
}

/// The age of an entry and the rest of its freshness, by its own end, by the rule or by its fields, in this order.
private struct FreshSpan {
  var age: Int64
  var freshFor: Int64
  var origin: FreshnessMetadata.Origin
  /// True if the response's fields count, because the rule does not override them.
  var followsFields: Bool

  init(of entry: EntryMetadata, under rule: FreshnessRule, at now: Int64) {
    let stamp = Self.stamp(of: entry, rule.stamp)
    age = max(0, now.subtractingClamped(stamp))
    origin = .rule
    followsFields = false
    if let end = entry.expiresAt {
      freshFor = end.subtractingClamped(now)
      return
    }
    if let negative = rule.negative, AnswerKind.isNegative(entry.status) {
      age = max(0, now.subtractingClamped(entry.validatedAt))
      freshFor = negative.subtractingClamped(age)
    } else {
      switch rule.base {
      case .manual, .immutable: freshFor = .max
      case .fixed(let lifetime): freshFor = lifetime == .max ? .max : lifetime.subtractingClamped(age)
      case .http(let least, let most, let otherwise):
        followsFields = true
        age = entry.age(at: now)
        let terms = entry.freshness
        let said = terms.origin == .none ? max(terms.lifetime, otherwise) : terms.lifetime
        let lifetime = min(max(terms.flags.contains(.noCache) ? 0 : said, least), most)
        origin = lifetime == terms.lifetime ? terms.origin : .rule
        freshFor = lifetime.subtractingClamped(age)
      }
    }
    if let cutOff = rule.cutOff?.milliseconds, stamp < cutOff {
      freshFor = min(freshFor, stamp.subtractingClamped(cutOff))
      origin = .rule
    }
  }

  /// Returns the time from which the age counts. It is the creation if that is known and not after the receipt.
  private static func stamp(of entry: EntryMetadata, _ stamp: FreshnessRule.Stamp) -> Int64 {
    if case .receipt = stamp { return entry.validatedAt }
    guard let created = entry.freshness.createdAt, created <= entry.receivedAt else {
      return entry.validatedAt
    }
    return created
  }
}

extension EntryMetadata {
  /// Returns the age by HTTP's calculation (RFC 9111 §4.2.3), in milliseconds. Never negative.
  package func age(at now: Int64) -> Int64 {
    freshness.initialAge.addingClamped(max(0, now.subtractingClamped(validatedAt)))
  }
}
