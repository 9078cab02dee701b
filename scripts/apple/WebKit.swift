// Stands for the module WebKit: the declarations that Bothy uses.
@_exported public import AppleFoundation

@MainActor
open class WKWebView: NSObject {}

@MainActor
public protocol WKURLSchemeTask: AnyObject {
  var request: URLRequest { get }
  func didReceive(_ response: URLResponse)
  func didReceive(_ data: Data)
  func didFinish()
  func didFailWithError(_ error: any Error)
}

@MainActor
public protocol WKURLSchemeHandler: AnyObject {
  func webView(_ webView: WKWebView, start urlSchemeTask: any WKURLSchemeTask)
  func webView(_ webView: WKWebView, stop urlSchemeTask: any WKURLSchemeTask)
}
