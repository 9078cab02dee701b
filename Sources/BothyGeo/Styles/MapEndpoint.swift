public import BothyCache
import BothyCore
public import Foundation
import HTTPTypes
import Synchronization

/// A place in this process where a renderer finds a style with all that it names, with or without a network.
///
/// ```swift
/// let endpoint = MapEndpoint(style, in: cache)
/// let styleURL = try endpoint.start()  // for `MLNMapView.styleURL`, say
/// ```
///
/// The style, its TileJSON documents, tiles, glyphs and sprites have addresses of the endpoint. Each is answered from the
/// cache like any other read. What a region has is answered from the disk. Only what the style names has an address, so
/// the endpoint reaches nothing else on the network.
///
/// All methods are safe from any thread.
public final class MapEndpoint: Sendable {
  private struct State {
    var style: MapStyle
    var listener: LoopbackListener?
  }

  /// A file of an app's own beside the map, such as a page that draws it.
  package struct Page: Sendable {
    /// The media type.
    package var type: String
    package var bytes: Data

    /// Creates a file.
    package init(type: String, bytes: Data) { (self.type, self.bytes) = (type, bytes) }
  }

  private let cache: ResourceCache
  private let pages: [String: Page]
  private let state: Mutex<State>
  /// A text that can't be guessed, without which nothing is answered.
  let token = Secret.make()

  /// Creates an endpoint for a style. Nothing listens before `start`.
  ///
  /// The style is read again through the cache when a renderer loads it, so a region's refresh shows in the same
  /// endpoint.
  public convenience init(_ style: MapStyle, in cache: ResourceCache) {
    self.init(style, in: cache, pages: [:])
  }

  /// - Parameter pages: files that are answered below the endpoint's address, by their names.
  package init(_ style: MapStyle, in cache: ResourceCache, pages: [String: Page]) {
    self.cache = cache
    self.pages = pages
    state = Mutex(State(style: style))
  }

  deinit { stop() }

  /// Listens on 127.0.0.1, and returns the address of the style. A further call returns the same address.
  ///
  /// Only this device can connect. The address has a token that can't be guessed, and requests under another host's name
  /// are refused. So neither another app nor a web page reads the map without being given the address.
  ///
  /// iOS ends the connections of a suspended app. Call `stop` and `start` again when it becomes active.
  ///
  /// - Parameter port: the port, or 0 to let the system choose one.
  /// - Throws: `BothyError` `unavailable` if the port is in use.
  @discardableResult
  public func start(port: Int = 0) throws(BothyError) -> URL {
    let listener = try listener(port)
    guard let url = URL(string: "\(base(listener.port))/style.json") else {
      throw BothyError(.unavailable, "The port \(listener.port) has no address.")
    }
    return url
  }

  /// Stops listening and ends open connections. Reads of the cache for these are cancelled.
  ///
  /// A second call does nothing. `start` listens again under the same token, and on another port if the system chooses
  /// it.
  public func stop() {
    let listener = state.withLock { state in
      defer { state.listener = nil }
      return state.listener
    }
    listener?.stop()
  }

  private func listener(_ port: Int) throws(BothyError) -> LoopbackListener {
    if let known = state.withLock({ $0.listener }) { return known }
    guard let number = UInt16(exactly: port) else {
      throw BothyError(
        .unavailable, "The port \(port) doesn't exist. Choose one from 1 to 65535, or 0 for any free one.")
    }
    let made = try LoopbackListener(port: number) { [weak self] request in
      await self?.answer(request) ?? MapAnswer(.notFound)
    }
    return state.withLock { state in
      if let known = state.listener {
        made.stop()
        return known
      }
      state.listener = made
      return made
    }
  }

  private func base(_ port: UInt16) -> String { "http://127.0.0.1:\(port)/\(token)" }

  /// Answers a request of the listener, if it has the token and names this machine.
  private func answer(_ request: LoopbackRequest) async -> MapAnswer {
    guard ["127.0.0.1:\(request.port)", "localhost:\(request.port)"].contains(request.host) else {
      return MapAnswer(.misdirectedRequest)
    }
    let path = request.target.prefix { $0 != "?" }.dropFirst()
    let given = path.prefix { $0 != "/" }
    guard Secret.areEqual(String(given), token) else { return MapAnswer(.notFound) }
    return await answer(
      String(path.dropFirst(given.count + 1)), at: base(request.port), condition: request.condition)
  }

  /// Returns the answer to a path below an address of the endpoint.
  ///
  /// - Parameters:
  ///   - base: the address that documents name, without a slash at the end.
  ///   - condition: the entity tags that the caller has, or `nil`.
  package func answer(_ path: String, at base: String, condition: String? = nil) async -> MapAnswer {
    if let page = pages[path] { return MapAnswer(page) }
    let style = path == "style.json" ? await current() : state.withLock { $0.style }
    var answer: MapAnswer
    switch MapRequest(path, style) {
    case nil: return MapAnswer(.notFound)
    case .style: answer = MapAnswer(StyleRewriter(style: style, base: base).rewrittenStyle())
    case .document(let source):
      guard let json = StyleRewriter(style: style, base: base).tileJSON(source) else {
        return MapAnswer(.notFound)
      }
      answer = MapAnswer(json)
    case .tile(let source, let tile): answer = await read(tile, of: source, style)
    case .file(let address): answer = await read(file: address, style)
    case .glyphs(let address):
      answer = await read(file: address, style)
      // For a renderer 404 is an error: it leaves out each tile whose glyphs have one.
      if answer.status == .notFound { answer = MapAnswer(.noContent) }
    }
    return answer.unlessHeld(condition)
  }

  /// Returns the style as it is now, for a renderer that begins. A region's refresh may have brought a newer one.
  private func current() async -> MapStyle {
    let known = state.withLock { $0.style }
    // Without a newer one, the known style is drawn.
    guard let now = try? await MapStyle(at: known.closure.style, of: known.source, in: cache) else {
      return known
    }
    state.withLock { $0.style = now }
    return now
  }

  private func read(_ tile: Tile, of name: String, _ style: MapStyle) async -> MapAnswer {
    guard let part = style.closure.part(named: name) else {
      return MapAnswer(.notFound)
    }
    return await read { () throws(BothyError) in
      try await self.cache.value(
        tile.key(in: style.closure.id(part, of: style.source)), policy: .localElseRemote, priority: .visible)
    }
  }

  private func read(file address: String, _ style: MapStyle) async -> MapAnswer {
    await read { () throws(BothyError) in
      try await self.cache.keptOrCurrent(style.closure.key(address, of: style.source))
    }
  }

  private func read(_ body: () async throws(BothyError) -> CachedResource) async -> MapAnswer {
    do throws(BothyError) { return MapAnswer(try await body()) } catch { return MapAnswer(error) }
  }
}
