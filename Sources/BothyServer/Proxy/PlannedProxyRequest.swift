import BothyCache
import HTTPTypes

/// A request with all that the proxy derives from it before it reads the cache.
final class PlannedProxyRequest: Sendable {
  let request: ProxyRequest
  let target: ProxyTarget
  let plan: ProxyPlan
  /// The options for reading the cache.
  let options: ReadOptions
  /// True if a response of 200 is sent whole, because the request has no condition and no range.
  let isWhole: Bool

  init(_ request: ProxyRequest, _ target: ProxyTarget) {
    self.request = request
    self.target = target
    plan = ProxyPlan(request.method, request.fields, isPlain: target.isPlain)
    options = ReadOptions(fields: ProxyFields.cached(request.fields))
    isWhole =
      plan == .cached && !request.fields.contains(.ifNoneMatch) && !request.fields.contains(.ifModifiedSince)
  }
}
