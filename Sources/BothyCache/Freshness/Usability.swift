internal import BothyStore

/// What may be done with a stored entry at one moment, under one rule.
///
/// Made by comparing stored numbers: no field is read, no date parsed, nothing allocated.
public struct Usability: Sendable, Hashable {
  /// From the best to the worst: what may be done with it before, and instead of, asking the server.
  public enum State: UInt8, Sendable, Hashable, CaseIterable {
    /// To be used without asking.
    case fresh
    /// To be used now, and asked for behind the reader's back.
    case staleWhileRevalidate
    /// To be asked for first; to be used, marked as stale, when the server fails or cannot be reached.
    case staleIfError
    /// Too stale to be used; good for asking whether it has changed.
    case stale
    /// Not to be used without the server's word, by the server's own wish.
    case mustRevalidate
  }

  /// What may be done with it.
  public var state: State
  /// Milliseconds since the moment that the rule counts from; never negative.
  public var age: Int64
  /// Milliseconds until it is stale, negative since it is; `Int64.max` when it never will be.
  public var freshFor: Int64
  /// What set the end of its freshness.
  public var origin: FreshnessTerms.Origin
  /// Whether even a reload need not ask (RFC 8246).
  public var isImmutable: Bool

  package init(
    state: State, age: Int64, freshFor: Int64, origin: FreshnessTerms.Origin, isImmutable: Bool = false
  ) {
    self.state = state
    self.age = age
    self.freshFor = freshFor
    self.origin = origin
    self.isImmutable = isImmutable
  }

  /// Whether it may be handed out before the server was asked.
  public var isUsableAtOnce: Bool { state.rawValue <= State.staleWhileRevalidate.rawValue }
  /// Whether it may be handed out after the server failed or could not be reached.
  public var isUsableOnError: Bool { state.rawValue <= State.staleIfError.rawValue }
  /// Whether it may be used without asking anybody.
  public var isFresh: Bool { state == .fresh }

  /// How far ahead of the clock an entry's receipt may lie before the clock is taken to have gone back.
  package static let clockTolerance: Int64 = 5 * 60_000
}

extension Usability {
  /// - Parameters:
  ///   - now: milliseconds since 1970 by the device's clock.
  ///   - isPinned: pinned entries are used when there is no network, whatever their fields say. That departs from
  ///     RFC 9111 §4.2.4 on purpose: who pins wants to have them where there is no road.
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
    switch rule.staleUse {
    case .always: return .staleIfError
    case .upTo(let longest):
      return staleFor < max(longest.wholeMilliseconds, terms.staleIfError) ? .staleIfError : .stale
    case .never: return staleFor < terms.staleIfError ? .staleIfError : .stale
    }
  }
}

/// How old an entry is and how long it stays fresh, by the first of: its own end, the rule, its fields.
private struct FreshSpan {
  var age: Int64
  var freshFor: Int64
  var origin: FreshnessTerms.Origin
  /// Whether the answer's fields have a say: not under a rule that overrides them.
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

  /// What the age is counted from: by creation if that is known and not after the receipt.
  private static func stamp(of entry: EntryMetadata, _ stamp: FreshnessRule.Stamp) -> Int64 {
    if case .receipt = stamp { return entry.validatedAt }
    guard let created = entry.freshness.createdAt, created <= entry.receivedAt else {
      return entry.validatedAt
    }
    return created
  }
}

extension EntryMetadata {
  /// The age by HTTP's reckoning (RFC 9111 §4.2.3), in milliseconds; never negative.
  package func age(at now: Int64) -> Int64 {
    freshness.initialAge.addingClamped(max(0, now.subtractingClamped(validatedAt)))
  }
}
