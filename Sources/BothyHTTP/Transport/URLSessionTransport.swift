#if canImport(Darwin)
  public import BothySync
  public import Foundation
  import HTTPTypes

  /// Sends requests with URLSession. This is the transport on Apple platforms.
  ///
  /// It does not follow redirects, so a token is sent only to the configured address.
  public final class URLSessionTransport: HTTPTransport {
    private let session: URLSession
    private let bodyLimit: Int

    /// Creates a transport.
    /// - Parameters:
    ///   - configuration: The session's configuration. Its cache is switched off.
    ///   - bodyLimit: The largest number of bytes of a response, uncompressed.
    public init(configuration: URLSessionConfiguration = .ephemeral, bodyLimit: Int = 64 << 20) {
      self.bodyLimit = bodyLimit
      configuration.urlCache = nil
      configuration.httpCookieStorage = nil
      configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
      session = URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)
    }

    deinit { session.finishTasksAndInvalidate() }

    public func send(_ request: TransportRequest) async throws(RemoteError) -> TransportResponse {
      do {
        let (data, response) = try await session.data(for: try Self.request(request))
        guard data.count <= bodyLimit else { throw RemoteError.tooLarge(bodyLimit) }
        let (status, headers) = try Self.head(response)
        return TransportResponse(status: status, headers: headers, body: Array(data))
      } catch {
        throw Self.remoteError(error)
      }
    }

    public func open(_ request: TransportRequest) async throws(RemoteError) -> TransportStream {
      do {
        var made = try Self.request(request)
        made.timeoutInterval = 24 * 3600
        let (bytes, response) = try await session.bytes(for: made)
        let (status, headers) = try Self.head(response)
        let (body, continuation) = AsyncThrowingStream.makeStream(of: [UInt8].self)
        let task = Task {
          do {
            var piece: [UInt8] = []
            for try await byte in bytes {
              piece.append(byte)
              // Events end with a line, so a piece that ends there reaches its reader at once.
              if byte == UInt8(ascii: "\n") || piece.count == 4096 {
                continuation.yield(piece)
                piece.removeAll(keepingCapacity: true)
              }
            }
            continuation.yield(piece)
            continuation.finish()
          } catch {
            continuation.finish(throwing: Self.remoteError(error))
          }
        }
        continuation.onTermination = { _ in task.cancel() }
        return TransportStream(status: status, headers: headers, body: body)
      } catch {
        throw Self.remoteError(error)
      }
    }

    private static func request(_ request: TransportRequest) throws -> URLRequest {
      guard let url = URL(string: request.url) else {
        throw RemoteError(.rejected, "The server's address isn't a URL.", code: "badAddress")
      }
      var made = URLRequest(url: url)
      made.httpMethod = request.method.rawValue
      made.timeoutInterval = request.timeout / .seconds(1)
      for field in request.headers { made.addValue(field.value, forHTTPHeaderField: field.name.rawName) }
      if !request.body.isEmpty { made.httpBody = Data(request.body) }
      return made
    }

    private static func head(_ response: URLResponse) throws -> (Int, HTTPFields) {
      guard let response = response as? HTTPURLResponse else {
        throw RemoteError(.unreachable, "The answer is not HTTP.", code: "network")
      }
      var fields = HTTPFields()
      for (name, value) in response.allHeaderFields {
        guard let name = (name as? String).flatMap({ HTTPField.Name($0) }), let value = value as? String
        else {
          continue
        }
        fields.append(HTTPField(name: name, value: value))
      }
      return (response.statusCode, fields)
    }

    private static func remoteError(_ error: any Error) -> RemoteError {
      if let known = error as? RemoteError { return known }
      if error is CancellationError || Task.isCancelled { return .cancelled }
      guard let failure = error as? URLError else {
        return RemoteError(.unreachable, "No answer came: \(error).", code: "network")
      }
      switch failure.code {
      case .cancelled: return .cancelled
      case .timedOut: return RemoteError(.unreachable, "No answer came in time.", code: "timeout")
      case .badURL, .unsupportedURL:
        return RemoteError(.rejected, "The server's address isn't a URL.", code: "badAddress")
      default:
        return RemoteError(.unreachable, "No answer came: \(failure.localizedDescription)", code: "network")
      }
    }
  }

  private final class NoRedirects: NSObject, URLSessionTaskDelegate {
    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest
    ) async -> URLRequest? { nil }
  }
#endif
