import BothyCache
import HTTPTypes

/// A request with all that the proxy makes of it before it looks anywhere.
final class ProxyOrder: Sendable {
  let request: ProxyRequest
  let target: ProxyTarget
  let plan: ProxyPlan
  /// What the cache is asked with.
  let options: ReadOptions
  /// Whether an answer of 200 goes out whole: nothing is asked on a condition or in parts.
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
