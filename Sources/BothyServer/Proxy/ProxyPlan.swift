import BothyCache
import HTTPTypes

/// What the proxy does with a request: a decision by its head alone.
enum ProxyPlan: Equatable {
  /// Answered from the cache, which asks the origin when it has to.
  case cached
  /// A part of something: from the cache if it has all of it and that is fresh, else passed on.
  case part
  /// Passed on and back, and not kept.
  case pass

  /// - Parameter isPlain: whether the address is the one that the cache asks under; another spelling is passed on.
  init(_ method: HTTPRequest.Method, _ fields: HTTPFields, isPlain: Bool) {
    let conditionsOfWriters = [HTTPField.Name.ifMatch, .ifUnmodifiedSince, .ifRange]
    let isStream = fields[.accept]?.lowercased().contains("text/event-stream") ?? false
    if method != .get || !isPlain || isStream || RequestDirectives(fields).noStore
      || CredentialFields.areIn(fields)
      || conditionsOfWriters.contains(where: { fields.contains($0) })
    {
      // The proxy may have several users; what one's credentials bring, cookies among them, is not for the
      // others.
      self = .pass
    } else {
      self = fields.contains(.range) ? .part : .cached
    }
  }
}
