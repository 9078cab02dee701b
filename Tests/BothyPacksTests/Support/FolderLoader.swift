import BothyCache
import Foundation
import HTTPTypes
import Synchronization

/// A server of one folder that counts its requests.
final class FolderLoader: ResourceLoader {
  private let folder: Mutex<URL>
  private let asked = Mutex<[String]>([])

  init(_ folder: URL) { self.folder = Mutex(folder) }

  /// Serves another folder from now on.
  func serve(_ url: URL) { folder.withLock { $0 = url } }

  var requests: [String] { asked.withLock { $0 } }
  func clear() { asked.withLock { $0 = [] } }

  func load(_ request: ResourceRequest) async throws(LoadFailure) -> ResourceResponse {
    let name = request.url.split(separator: "/").last.map { String($0) } ?? ""
    asked.withLock { $0.append(name) }
    let bytes = FileManager.default.contents(atPath: folder.withLock { $0.path } + "/" + name)
    let fields: HTTPFields = [.cacheControl: "max-age=86400"]
    return ResourceResponse(
      status: bytes == nil ? 404 : 200, fields: fields,
      body: AsyncThrowingStream { continuation in
        if let bytes { continuation.yield(bytes) }
        continuation.finish()
      })
  }
}
