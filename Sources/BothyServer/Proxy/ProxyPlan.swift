import BothyCache
import HTTPTypes

/// The way in which the proxy handles a request, decided by its head alone.
enum ProxyPlan: Equatable {
  /// Served from the cache, which sends a request to the origin if it has to.
  case cached
  /// A part of a resource. It is served from the cache if the cache has all of the resource, fresh. Otherwise it is
  /// passed on.
  case part
  /// Passed through and not stored.
  case pass

  /// - Parameters:
  ///   - isPlain: true if the address is the one that the cache uses. Other spellings are passed on.
  ///   - isShared: true for a proxy with several users. Responses to one user's credentials, cookies among them, aren't
  ///     for the others, so such requests are passed on.
  init(_ method: HTTPRequest.Method, _ fields: HTTPFields, isPlain: Bool, isShared: Bool) {
    let conditionsOfWriters = [HTTPField.Name.ifMatch, .ifUnmodifiedSince, .ifRange]
    let isStream = fields[.accept]?.lowercased().contains("text/event-stream") ?? false
    if method != .get || !isPlain || isStream || RequestDirectives(fields).noStore
      || isShared && CredentialFields.areIn(fields)
      || conditionsOfWriters.contains(where: { fields.contains($0) })
    {
      self = .pass
    } else {
      self = fields.contains(.range) ? .part : .cached
    }
  }
}
