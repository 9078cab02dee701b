internal import HTTPTypes

extension ResourceCache.Demand {
  /// Returns the request to send for this demand.
  func order(_ fields: HTTPFields) -> FetchOrder {
    let source = source
    let hosts = max(1, source.hosts.count)
    var order = FetchOrder(
      (0..<hosts).map { url(host: $0) }, spread: key.path.utf8.fnv1a(), fields: fields)
    order.parallelHosts = source.limits.parallelHosts
    order.bodyLimit = source.limits.bodyBytes
    order.limits = source.limits.perHost
    order.expectation = source.content
    order.rateGroup = source.rateGroup ?? source.id.name
    order.retry = hasFallback ? .once : source.limits.retry
    if !options.waitsForHost { order.retry.patience = .zero }
    order.timeout = source.limits.timeout
    order.secretFields = Set(source.headers.map(\.name)).subtracting([.userAgent, .accept, .acceptLanguage])
    order.requiresUserAgent = source.requiresUserAgent
    // For rules that keep every status, a redirect is an entry of its own.
    order.followsRedirects = !rule.keepsEveryStatus
    order.admitsRedirect = source.admitsRedirect
    return order
  }

  private func url(host: Int) -> String {
    var url = source.requestURL(for: key, host: host)
    for (name, value) in options.query.sorted(by: { $0.key < $1.key }) {
      url += url.contains("?") ? "&" : "?"
      url += CanonicalPath.encoded(name, keeping: CanonicalPath.unreserved) + "="
      url += CanonicalPath.encoded(value, keeping: CanonicalPath.unreserved)
    }
    return url
  }
}
