import BothyCache
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// Answers one request after the other: from the cache, or by passing it on.
struct ProxyResponder: Sendable {
  private let configuration: CacheProxyConfiguration
  private var cache: ResourceCache { configuration.cache }
  private var source: ResourceSource { configuration.source }

  init(_ configuration: CacheProxyConfiguration) throws {
    self.configuration = configuration
    try configuration.cache.register(configuration.source)
  }

  /// The answer; failures are answers too.
  func respond(to request: Request) async -> Response {
    let target = request.head.path ?? "/"
    let origin = Self.origin(of: source)
    guard target.hasPrefix("/"), let key = try? source.key(url: origin + target) else {
      return Self.problem(.badRequest, "The proxy takes paths of \(origin) only.", "fwd=bypass")
    }
    let url = origin + target
    let isPlain = source.publicURL(for: key) == url
    let answer: Response
    switch ProxyPlan(request.method, request.headers, isPlain: isPlain) {
    case .cached: answer = await cached(key, url, request)
    case .part: answer = await part(of: key, url, request)
    case .pass: answer = await pass(url, request, why: request.method == .get ? "bypass" : "method")
    }
    configuration.logger.debug(
      "request",
      metadata: [
        "method": "\(request.method.rawValue)", "target": "\(target)", "status": "\(answer.status.code)",
        "cache": "\(answer.headers[.cacheStatus] ?? "")",
      ])
    return answer
  }

  private static func origin(of source: ResourceSource) -> String {
    guard case .base(let text) = source.address else { return "" }
    return text.hasSuffix("/") ? String(text.dropLast()) : text
  }

  // MARK: from the cache

  private func cached(_ key: ResourceKey, _ url: String, _ request: Request) async -> Response {
    let onlyStored = RequestDirectives(request.headers).onlyIfCached
    var options = ReadOptions(mode: onlyStored ? .cacheOnly : .cacheElseNetwork)
    options.fields = ProxyFields.cached(request.headers)
    do throws(CacheError) {
      let resource = try await cache.value(key, options)
      if onlyStored, !use(of: resource, request).isUsableAtOnce {
        return Self.problem(
          .gatewayTimeout, "Nothing fresh is stored, and the request wants no other.", "fwd=stale")
      }
      return served(resource, request)
    } catch {
      // What is too large to be kept goes through piece by piece.
      if error.code == .tooLarge { return await pass(url, request, why: "bypass; detail=large") }
      return Self.problem(Self.status(of: error, onlyStored), error.message, "fwd=miss")
    }
  }

  private func use(of resource: CachedResource, _ request: Request) -> Usability {
    let now = configuration.now()
    return RequestDirectives(request.headers).restrict(
      Usability(of: resource.metadata, under: source.freshness, at: now), age: resource.metadata.age(at: now))
  }

  private func part(of key: ResourceKey, _ url: String, _ request: Request) async -> Response {
    var options = ReadOptions(mode: .cacheOnly)
    options.fields = ProxyFields.cached(request.headers)
    do throws(CacheError) {
      let resource = try await cache.value(key, options)
      if use(of: resource, request).isUsableAtOnce, resource.metadata.status == 200 {
        return served(resource, request)
      }
    } catch {
      configuration.logger.trace("nothing stored", metadata: ["error": "\(error)"])
    }
    return await pass(url, request, why: "partial-hit")
  }

  /// An answer out of an entry: all of it, the part that was asked for, or that nothing has changed.
  private func served(_ resource: CachedResource, _ request: Request) -> Response {
    let metadata = resource.metadata
    var fields = ServedFields.of(metadata, at: configuration.now())
    if resource.origin == .network, metadata.fields[.age] == nil, fields[.age] == "0" { fields[.age] = nil }
    fields = ProxyFields.answer(fields, status: Self.status(of: resource))
    let body = resource.stored.entry.body
    if metadata.status == 200 {
      if StoredConditions.isUnchanged(metadata, for: request.headers) {
        fields[.contentLength] = nil
        return Response(
          status: .notModified, headers: fields, body: .init(contentLength: nil) { try await $0.finish(nil) })
      }
      switch ByteRange(request.headers[.range], of: Int64(body.count)) {
      case .all: break
      case .part(let range):
        fields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(body.count)"
        fields[.contentLength] = String(range.count)
        let bytes = body.dropFirst(Int(range.lowerBound)).prefix(range.count)
        return Response(
          status: .partialContent, headers: fields, body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
      case .unsatisfiable:
        fields[.contentRange] = "bytes */\(body.count)"
        fields[.contentLength] = "0"
        return Response(status: .rangeNotSatisfiable, headers: fields)
      }
    }
    guard metadata.status != 204 else {
      fields[.contentLength] = nil
      return Response(
        status: .noContent, headers: fields, body: .init(contentLength: nil) { try await $0.finish(nil) })
    }
    fields[.contentLength] = String(body.count)
    return Response(
      status: .init(code: metadata.status), headers: fields, body: .init(byteBuffer: ByteBuffer(bytes: body)))
  }

  private static func status(of resource: CachedResource) -> String {
    switch (resource.origin, resource.freshness) {
    case (.network, _):
      switch resource.storage {
      case .stored, .notStored(.noDisk): "fwd=miss; stored"
      case .notStored: "fwd=miss"
      }
    case (.confirmed, _): "hit; fwd=stale; fwd-status=304"
    case (_, .fresh): "hit"
    case (_, .stale(.refreshFailed(let error))):
      "hit; fwd=stale" + (error.status.map { "; fwd-status=\($0)" } ?? "")
    case (_, .stale): "hit; detail=stale"
    }
  }

  // MARK: passing on

  private func pass(_ url: String, _ request: Request, why: String) async -> Response {
    let body: ByteBuffer
    do {
      body = try await request.body.collect(upTo: configuration.bodyLimit)
    } catch is NIOTooManyBytesError {
      return Self.problem(
        .contentTooLarge, "The proxy passes on \(configuration.bodyLimit) bytes at most.", "fwd=\(why)")
    } catch {
      return Self.problem(.badRequest, "The body could not be read to its end.", "fwd=\(why)")
    }
    let sent = ResourceRequest(
      url, method: ProxyFields.method(request.method), fields: ProxyFields.request(request.headers),
      body: Data(body.readableBytesView))
    do throws(LoadFailure) {
      let answer = try await head(of: sent)
      await invalidate(request.method, url, answer)
      return passed(answer, request.method, why)
    } catch {
      let status: HTTPResponse.Status = error.reason == .timedOut ? .gatewayTimeout : .badGateway
      return Self.problem(status, error.description, "fwd=\(why)")
    }
  }

  /// The head of the origin's answer, if it comes in time.
  private func head(of sent: ResourceRequest) async throws(LoadFailure) -> ResourceResponse {
    let (loader, timeout) = (configuration.loader, configuration.timeout)
    typealias Outcome = Result<ResourceResponse, LoadFailure>
    let outcome = await withTaskGroup(of: Outcome?.self) { group in
      group.addTask {
        do throws(LoadFailure) { return .success(try await loader.load(sent)) } catch {
          return .failure(error)
        }
      }
      group.addTask {
        // Called off as soon as there is an answer.
        try? await Task.sleep(for: timeout)
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
    guard let outcome else { throw LoadFailure(.timedOut, "\(sent.url) did not answer for \(timeout).") }
    return try outcome.get()
  }

  private func invalidate(_ method: HTTPRequest.Method, _ url: String, _ answer: ResourceResponse) async {
    let targets = Invalidation.targets(method: method, url: url, status: answer.status, fields: answer.fields)
    // An address that is no key of this source was never stored.
    let keys = targets.compactMap { try? source.key(url: $0) }
    guard !keys.isEmpty else { return }
    do {
      try await cache.remove(keys)
    } catch {
      configuration.logger.error(
        "what a request outdated could not be removed", metadata: ["error": "\(error)"])
    }
  }

  private func passed(_ answer: ResourceResponse, _ method: HTTPRequest.Method, _ why: String) -> Response {
    let fields = ProxyFields.answer(answer.fields, status: "fwd=\(why); fwd-status=\(answer.status)")
    let status = HTTPResponse.Status(code: answer.status)
    let hasBody = method != .head && answer.status != 204 && answer.status != 304
    let length = fields[.contentLength].flatMap { Int($0) }
    return Response(
      status: status, headers: fields,
      body: .init(contentLength: length) { writer in
        for try await piece in answer.body where hasBody { try await writer.write(ByteBuffer(bytes: piece)) }
        try await writer.finish(nil)
      })
  }

  // MARK: failing

  private static func status(of error: CacheError, _ onlyStored: Bool) -> HTTPResponse.Status {
    if onlyStored || error.code == .timedOut || error.code == .offline { return .gatewayTimeout }
    if error.code == .closed || error.code == .storage { return .serviceUnavailable }
    if let status = error.status, status >= 500 { return .init(code: status) }
    return .badGateway
  }

  private static func problem(_ status: HTTPResponse.Status, _ sentence: String, _ what: String) -> Response {
    let fields: HTTPFields = [
      .contentType: "text/plain; charset=utf-8", .cacheControl: "no-store", .cacheStatus: "bothy; " + what,
    ]
    return Response(
      status: status, headers: fields, body: .init(byteBuffer: ByteBuffer(string: sentence + "\n")))
  }
}
