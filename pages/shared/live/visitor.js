// Keeps a visitor's secret, by which their own runs are known after a reload. Another tab's stays.
export default function ({ data }) {
  if (document.cookie.split("; ").some((one) => one.startsWith(`${data.name}=`))) return;
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie =
    `${data.name}=${data.secret}; Max-Age=${data.seconds}; Path=/; SameSite=Lax${secure}`;
}
