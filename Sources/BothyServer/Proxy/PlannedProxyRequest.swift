import BothyCache
import HTTPTypes

/// A request with all that the proxy derives from it before it reads the cache.
final class PlannedProxyRequest: Sendable {
  let request: ProxyRequest
  let target: ProxyTarget
  let plan: ProxyPlan
  /// The options for reading the cache.
  let options: ResourceCache.Options
  /// True if a response of 200 is sent whole, because the request has no condition and no range.
  let isWhole: Bool

  /// - Parameter now: the time in milliseconds since 1970.
  init(_ request: ProxyRequest, _ target: ProxyTarget, at now: Int64) {
    self.request = request
    self.target = target
    let plan = ProxyPlan(request.method, request.fields, isPlain: target.isPlain, isShared: target.isShared)
    // Some origins read the body of a GET, and the cache sends none. Responses of a target that passes
    // are for one caller each, so requests for it aren't joined.
    let passes = !request.body.isEmpty || plan == .cached && target.passes(at: now)
    self.plan = passes ? .pass : plan
    var options = ResourceCache.Options(fields: ProxyFields.cached(request.fields))
    // A slow origin doesn't allow a stale response (RFC 9111 §4.2.4).
    options.waitsForEnd = true
    self.options = options
    isWhole =
      self.plan == .cached && !request.fields.contains(.ifNoneMatch)
      && !request.fields.contains(.ifModifiedSince)
  }
}
