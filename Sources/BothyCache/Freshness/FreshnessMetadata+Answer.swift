internal import BothyStore
package import HTTPTypes

/// Computes the terms of a response once, when it is stored or confirmed (RFC 9111 §4.2).
extension FreshnessMetadata {
  /// Computes the terms of a response.
  /// - Parameters:
  ///   - requestedAt: the time of the request, in milliseconds since 1970.
  ///   - receivedAt: the time at which the response's head came.
  ///   - rule: gives the limit of estimates and the stamp. Everything else of a rule is applied when the entry is read.
  package init(
    status: Int, fields: HTTPFields, requestedAt: Int64, receivedAt: Int64, rule: FreshnessRule
  ) {
    let control = CacheControl(fields)
    let date = fields[.date].flatMap { HTTPDate.milliseconds($0, now: receivedAt) }
    let modified = fields[.lastModified].flatMap { HTTPDate.milliseconds($0, now: receivedAt) }
    self.init(
      lifetime: 0, initialAge: Self.initialAge(fields, date, requestedAt, receivedAt),
      createdAt: Self.created(fields, modified, receivedAt, rule.stamp))
    let shared = rule.isShared ? control.sharedMaxAge : nil
    if let seconds = shared ?? control.maxAge {
      (lifetime, origin) = (seconds * 1000, .maxAge)
    } else if fields.contains(.expires) {
      let end = HTTPDate.milliseconds(fields[values: .expires].joined(separator: ", "), now: receivedAt)
      (lifetime, origin) = (end.map { max(0, $0 - (date ?? receivedAt)) } ?? 0, .expires)
    } else if let modified, rule.heuristicCap > 0, AnswerKind.allowsGuess(status) || control.isPublic {
      let guess = max(0, (date ?? receivedAt) - modified) / 10
      (lifetime, origin) = (min(guess, rule.heuristicCap), .heuristic)
    }
    staleWhileRevalidate = (control.staleWhileRevalidate ?? 0) * 1000
    staleIfError = (control.staleIfError ?? 0) * 1000
    if control.noCache || Vary(fields) == .everything { flags.insert(.noCache) }
    // `s-maxage` demands what `proxy-revalidate` does (RFC 9111 §5.2.2.10).
    if control.mustRevalidate || shared != nil || rule.isShared && control.proxyRevalidate {
      flags.insert(.mustRevalidate)
    }
    if control.isImmutable { flags.insert(.immutable) }
  }

  /// Returns the larger of two ages: the one by the clocks, and the one by caches on the way plus the response time.
  private static func initialAge(
    _ fields: HTTPFields, _ date: Int64?, _ requestedAt: Int64, _ receivedAt: Int64
  ) -> Int64 {
    let apparent = date.map { max(0, receivedAt - $0) / 1000 * 1000 } ?? 0
    let delay = max(0, receivedAt - requestedAt)
    return max(apparent, ageField(fields) * 1000 + delay)
  }

  /// Returns the first member of `Age` in seconds, or zero if it isn't a number (RFC 9111 §5.1).
  private static func ageField(_ fields: HTTPFields) -> Int64 {
    guard let first = fields[values: .age].first, let member = ListReader.members(of: first).first,
      member.utf8.first != UInt8(ascii: "\"")
    else { return 0 }
    return CacheControl.seconds(member) ?? 0
  }

  private static func created(
    _ fields: HTTPFields, _ modified: Int64?, _ receivedAt: Int64, _ stamp: FreshnessRule.Stamp
  ) -> Int64? {
    switch stamp {
    case .receipt, .lastModified: modified
    case .field(let name): fields[name].flatMap { HTTPDate.milliseconds($0, now: receivedAt) }
    case .computed(let moment): moment(fields).map { Timestamp($0).milliseconds }
    }
  }
}
